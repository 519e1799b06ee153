//! Pictures: told by their first bytes, and handed to the model as they are. Nothing here decodes one.

use super::{Read, Refusal};
use crate::tools::{refusal, refusal_to_find};
use pibench_core::message::Image;
use pibench_core::path::WorkspacePath;
use pibench_record::event::Step;
use pibench_sandbox::workspace::Workspace;

/// The picture that a file is; None where it is none.
pub(super) fn show(workspace: &Workspace, path: &WorkspacePath) -> Result<Option<Read>, Refusal> {
    let head = workspace
        .view()
        .read_range(path, 0, 16)
        .map_err(|error| refusal_to_find(workspace, &error))?;
    if Image::media_type_of(&head).is_none() {
        return Ok(None);
    }
    let size = workspace.stat(path).map_err(|error| refusal(&error))?.size;
    let most = Image::MOST_BYTES;
    if size > most as u64 {
        return Err(Refusal::new(format!(
            "{path} has {size} bytes; pictures are shown up to {most}. Work from a smaller one"
        )));
    }
    let content = workspace.read(path).map_err(|error| refusal(&error))?;
    let Some(Image { media_type, data }) = Image::of(&content) else {
        return Ok(None);
    };
    Ok(Some(Read::Picture {
        text: format!("({path} is a picture, {media_type}, {size} bytes; it is shown to you next)"),
        step: Step::Picture {
            path: path.to_string(),
            media_type,
            data,
        },
    }))
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::super::super::tests::workspace;
    use super::*;

    fn read(content: &[u8]) -> Result<Option<Read>, Refusal> {
        let (_folder, mut workspace) = workspace();
        let path = WorkspacePath::parse("a.bin").unwrap();
        workspace.write(&path, content).unwrap();
        show(&workspace, &path)
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
        let Err(Refusal { text: reason, .. }) = read(&content) else {
            panic!("not refused")
        };
        assert!(
            reason.contains("pictures are shown up to 3145728"),
            "{reason}"
        );
    }
}
