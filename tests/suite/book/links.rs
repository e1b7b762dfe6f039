//! Markdown as mdBook and forges read it: headings with their anchors, links, code.

use std::collections::BTreeMap;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// What a page holds.
#[derive(Debug, Default)]
pub struct Page {
    /// Anchors of its headings.
    pub anchors: Vec<String>,
    /// Where its links and images lead.
    pub links: Vec<String>,
    /// Blocks of code with their language.
    pub blocks: Vec<(String, String)>,
    /// Code inside of sentences.
    pub words: Vec<String>,
}

/// Reads a page.
pub fn read(text: &str) -> Page {
    let mut page = Page::default();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let (mut heading, mut block) = (None::<String>, None::<(String, String)>);
    for event in Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let own = anchor(&heading.take().unwrap_or_default());
                let count = seen.entry(own.clone()).and_modify(|count| *count += 1).or_insert(0);
                page.anchors.push(if *count == 0 { own } else { format!("{own}-{count}") });
            }
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                page.links.push(dest_url.into_string());
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.into_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                block = Some((language, String::new()));
            }
            Event::End(TagEnd::CodeBlock) => page.blocks.extend(block.take()),
            Event::Text(text) => {
                if let Some((_, block)) = &mut block {
                    block.push_str(&text);
                }
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
                page.words.push(text.into_string());
            }
            _ => {}
        }
    }
    page
}

/// The anchor of a heading.
pub fn anchor(heading: &str) -> String {
    let letter = |letter: char| match letter {
        _ if letter.is_alphanumeric() || letter == '-' || letter == '_' => Some(letter.to_ascii_lowercase()),
        _ if letter.is_whitespace() => Some('-'),
        _ => None,
    };
    heading.trim().chars().filter_map(letter).collect()
}
