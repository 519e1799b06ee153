//! Data made small enough to travel in one file. What is cut says so.

use std::io::{self, BufWriter};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use serde_json::Value;

use super::chunk::{Times, episode_chunks};
use crate::report::Report;
use crate::run_record::RunRecord;
use pibench_record::results::SessionLine;

/// What 100 sessions may take in the page, in bytes of base64: the rest of 5 MB is for index and page.
const PER_HUNDRED: usize = 4_200_000;

/// What all sessions may take together: a browser opens such a file still.
const ALL: usize = 48_000_000;

/// Sessions whose records the page carries. Of more it knows the scores, and `view` has the rest.
const CARRIED: usize = 4_000;

/// The lengths to which texts are cut, one after the other, until a session fits. Characters.
const LENGTHS: [usize; 5] = [32_768, 8_192, 2_048, 512, 128];

/// JSON, compressed. The same value gives the same bytes.
pub(super) fn pack(value: &impl Serialize) -> io::Result<Vec<u8>> {
    /// Bytes that are compressed at once.
    const BUFFER: usize = 64 << 10;
    let encoder = GzEncoder::new(Vec::new(), Compression::default());
    let mut writer = BufWriter::with_capacity(BUFFER, encoder);
    serde_json::to_writer(&mut writer, value)?;
    writer.into_inner()?.finish()
}

/// The sessions of the report that the page carries, in the order of the index. Records are large: one at a time is unpacked,
/// and again where it has to be cut.
pub(super) fn sessions(report: &Report) -> io::Result<Vec<Vec<u8>>> {
    let mut carried = Vec::new();
    let mut room = CARRIED;
    for run in &report.runs {
        let mut lines = Vec::new();
        let read = run.each_session(|line| {
            if lines.len() < room {
                lines.push(line.clone());
            }
        });
        read.map_err(io::Error::other)?;
        room -= lines.len();
        carried.push((run, lines));
    }
    fit(CARRIED - room, || chunks(&carried))
}

/// `count`: how many there are.
fn fit<I: Iterator<Item = Value>>(
    count: usize,
    chunks: impl Fn() -> I,
) -> io::Result<Vec<Vec<u8>>> {
    let budget = base64_inverse((PER_HUNDRED * count.max(100) / 100).min(ALL));
    let share = budget / count.max(1);
    // None for one that is cut. All are kept as long as they fit, and then the small ones alone.
    let mut all: Vec<Option<Vec<u8>>> = Vec::with_capacity(count);
    let (mut total, mut is_kept) = (0, true);
    for chunk in chunks() {
        let packed = pack(&chunk)?;
        total += packed.len();
        if total > budget && is_kept {
            is_kept = false;
            for large in &mut all {
                large.take_if(|packed| packed.len() > share);
            }
        }
        all.push((is_kept || packed.len() <= share).then_some(packed));
    }
    if is_kept {
        return Ok(all.into_iter().flatten().collect());
    }
    let cut = all.into_iter().zip(chunks());
    cut.map(|(packed, chunk)| packed.map_or_else(|| fitted(chunk, share), Ok))
        .collect()
}

fn chunks<'a>(
    carried: &'a [(&'a RunRecord, Vec<SessionLine>)],
) -> impl Iterator<Item = Value> + use<'a> {
    carried.iter().flat_map(|(run, lines)| {
        let mut times = None;
        let episodes =
            lines.chunk_by(|one, other| (&one.persona, one.run) == (&other.persona, other.run));
        episodes.flat_map(move |episode| {
            let times = times.get_or_insert_with(|| Times::of(run, lines));
            episode_chunks(run, episode, times.take(episode))
        })
    })
}

/// Bytes whose base64 has this length.
fn base64_inverse(length: usize) -> usize {
    length / 4 * 3
}

/// A session whose texts are cut until it fits.
fn fitted(mut chunk: Value, share: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for length in LENGTHS {
        cut(&mut chunk, length);
        chunk["cut"] = length.into();
        bytes = pack(&chunk)?;
        if bytes.len() <= share {
            break;
        }
    }
    Ok(bytes)
}

/// Cuts every text to a length.
fn cut(value: &mut Value, length: usize) {
    match value {
        Value::String(text) => {
            let all = text.chars().count();
            if all > length + 64 {
                let head: String = text.chars().take(length).collect();
                *text = format!(
                    "{head}\n[{} more characters are in the run folder]",
                    all - length
                );
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| cut(value, length)),
        Value::Object(fields) => fields.values_mut().for_each(|value| cut(value, length)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_that_is_too_long_is_cut_and_says_by_how_much() {
        let mut value = json!({ "turns": [{ "text": "a".repeat(1000) }, 7, "short"] });
        cut(&mut value, 100);
        let text = value["turns"][0]["text"].as_str().unwrap();
        assert!(
            text.ends_with("[900 more characters are in the run folder]"),
            "{text}"
        );
        assert_eq!(value["turns"][2], "short");
    }

    #[test]
    fn many_sessions_share_one_bound() {
        let chunk = |at: u32| {
            let texts = (0..100_u32).map(|text| {
                let noise = (0..16_u32)
                    .map(|part| blake3::hash(&[at, text, part].map(u32::to_le_bytes).concat()));
                noise
                    .map(|hash| hash.to_hex().to_string())
                    .collect::<String>()
            });
            json!({ "texts": texts.collect::<Vec<_>>() })
        };
        let few: usize = fit(10, || (0..10).map(chunk))
            .unwrap()
            .iter()
            .map(Vec::len)
            .sum();
        let many: usize = fit(1_200, || (0..1_200).map(chunk))
            .unwrap()
            .iter()
            .map(Vec::len)
            .sum();
        assert!(few > 10 * 40_000, "ten fit as they are: {few}");
        assert!(many <= base64_inverse(ALL), "{many}");
    }

    #[test]
    fn a_session_is_cut_until_it_fits() {
        // Text that hardly compresses.
        let noise: String = (0..4000_u32)
            .map(|at| blake3::hash(&at.to_le_bytes()).to_hex().to_string())
            .collect();
        let chunk = json!({ "text": noise });
        let bytes = pack(&chunk).unwrap();
        let fit = fitted(chunk, 8_000).unwrap();
        assert!(bytes.len() > 100_000 && fit.len() <= 8_000, "{}", fit.len());
    }
}
