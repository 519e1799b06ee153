//! Where a component's heap comes from: first a part of its own statics, which is there when an instance is made, then its host, who
//! is asked for several pages at once. Each time that the memory grows the host has to ask the system, and once more where
//! the next instance begins without.

use core::alloc::Layout;
use core::arch::wasm32::memory_grow;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use talc::base::Talc;
use talc::base::binning::Binning;
use talc::cell::TalcSyncCell;
use talc::source::Source;
use talc::wasm::WasmBinning;

/// Bytes of a page.
const PAGE: usize = 64 << 10;

/// Pages that are asked for at once, where there is room for so many; as many are there from the beginning.
const AT_ONCE: usize = 8;

/// The allocator of a component.
pub(crate) type Heap = TalcSyncCell<Pages, WasmBinning>;

/// An allocator that has no memory yet.
pub(crate) const fn heap() -> Heap {
    TalcSyncCell::new_wasm(Pages { end: None })
}

/// What the allocator begins with. Zeros take no room in a component's file.
#[repr(align(16))]
struct First(UnsafeCell<MaybeUninit<[u8; AT_ONCE * PAGE]>>);

#[allow(unsafe_code, reason = "memory of the allocator's")]
// SAFETY: the allocator alone has it, and a component is one thread.
unsafe impl Sync for First {}

static FIRST: First = First(UnsafeCell::new(MaybeUninit::zeroed()));

/// The memory that was taken so far.
#[derive(Debug)]
pub(crate) struct Pages {
    /// Of what was taken last; None before the first allocation.
    end: Option<NonNull<u8>>,
}

#[allow(unsafe_code, reason = "memory of the allocator's")]
// SAFETY: nothing here allocates.
unsafe impl Source for Pages {
    fn acquire<B: Binning>(talc: &mut Talc<Self, B>, layout: Layout) -> Result<(), ()> {
        let Some(end) = talc.source.end else {
            let first = FIRST.0.get().cast();
            // SAFETY: nobody else names it.
            talc.source.end = unsafe { talc.claim(first, AT_ONCE * PAGE) };
            return Ok(());
        };
        let (base, size) = grow(layout).ok_or(())?;
        // SAFETY: the host gave these pages to nobody else.
        talc.source.end = Some(if end.as_ptr() == base {
            unsafe { talc.extend(end, base.wrapping_add(size)) }
        } else {
            unsafe { talc.claim(base, size) }.ok_or(())?
        });
        Ok(())
    }
}

/// New pages with room for an allocation: where they begin, and their bytes.
fn grow(layout: Layout) -> Option<(*mut u8, usize)> {
    // Beside what is asked for: its alignment, and what the allocator keeps of it.
    let wanted = (layout.size() + layout.align() + 64).div_ceil(PAGE);
    [wanted.max(AT_ONCE), wanted].into_iter().find_map(|pages| {
        let had = memory_grow::<0>(pages);
        (had != usize::MAX).then(|| ((had * PAGE) as *mut u8, pages * PAGE))
    })
}
