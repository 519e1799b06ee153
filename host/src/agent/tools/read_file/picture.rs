//! Pictures: told by their first bytes, and handed to the model as they are. Nothing here decodes one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Read, Refusal};
use crate::agent::tools::refusal;
use crate::store::event::Step;
use crate::workspace::{Workspace, WorkspacePath};

/// The largest picture that is shown, in bytes: as base64 it stays below what the servers take (5 MB).
const MOST_BYTES: u64 = 3 << 20;

/// The picture that a file is; None where it is none.
pub(super) fn shown(workspace: &Workspace, path: &WorkspacePath) -> Result<Option<Read>, Refusal> {
    let head = workspace
        .view()
        .read_range(path, 0, 16)
        .map_err(|error| refusal(&error))?;
    let Some(media_type) = media_type(&head) else {
        return Ok(None);
    };
    let size = workspace.stat(path).map_err(|error| refusal(&error))?.size;
    if size > MOST_BYTES {
        return Err(Refusal(format!(
            "{path} has {size} bytes; pictures are shown up to {MOST_BYTES}. Work from a smaller one"
        )));
    }
    let content = workspace.read(path).map_err(|error| refusal(&error))?;
    Ok(Some(Read::Picture {
        text: format!("({path} is a picture, {media_type}, {size} bytes; it is shown to you next)"),
        step: Step::Picture {
            path: path.to_string(),
            media_type: media_type.into(),
            data: STANDARD.encode(content),
        },
    }))
}

/// What the first bytes of a file say.
fn media_type(head: &[u8]) -> Option<&'static str> {
    if head.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Some("image/png");
    }
    if head.starts_with(b"\xff\xd8\xff") {
        return Some("image/jpeg");
    }
    if head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a") {
        return Some("image/gif");
    }
    let webp = head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP".as_slice());
    webp.then_some("image/webp")
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::workspace;
    use super::*;

    fn read(content: &[u8]) -> Result<Option<Read>, Refusal> {
        let (_folder, mut workspace) = workspace();
        let path = WorkspacePath::parse("a.bin").unwrap();
        workspace.write(&path, content).unwrap();
        shown(&workspace, &path)
    }

    #[test]
    fn a_picture_is_told_by_its_first_bytes() {
        for (content, expected) in [
            (b"\x89PNG\r\n\x1a\nrest".as_slice(), "image/png"),
            (b"\xff\xd8\xff\xe0", "image/jpeg"),
            (b"GIF89a", "image/gif"),
            (b"RIFF\0\0\0\0WEBPVP8", "image/webp"),
        ] {
            let Ok(Some(Read::Picture { text, step })) = read(content) else {
                panic!("{expected} is not seen");
            };
            let size = content.len();
            let said =
                format!("(a.bin is a picture, {expected}, {size} bytes; it is shown to you next)");
            assert_eq!(text, said);
            let data = STANDARD.encode(content);
            assert_eq!(
                step,
                Step::Picture {
                    path: "a.bin".into(),
                    media_type: expected.into(),
                    data,
                }
            );
        }
        for content in [b"RIFF\0\0\0\0WAVE".as_slice(), b"text", b"", b"%PDF"] {
            assert!(matches!(read(content), Ok(None)), "{content:?}");
        }
    }

    #[test]
    fn a_picture_that_no_server_takes_is_refused() {
        let mut content = b"GIF89a".to_vec();
        content.resize(3 << 20, 0);
        assert!(matches!(read(&content), Ok(Some(_))));
        content.push(0);
        let Err(Refusal(reason)) = read(&content) else {
            panic!("not refused")
        };
        assert!(
            reason.contains("pictures are shown up to 3145728"),
            "{reason}"
        );
    }
}
