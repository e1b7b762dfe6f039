//! The index of a channel as packages are chosen out of it: what is chosen is listed there, under its own channel.

use simpack::package::conda::{ChannelIndex, Wishes, solve};

const CHANNEL: &str = "https://channel.example";

pub fn run(bytes: &[u8]) {
    let index = ChannelIndex { channel: CHANNEL.to_owned(), subdir: "linux-64".to_owned(), bytes: bytes.to_vec() };
    let wishes = Wishes { specs: vec!["fat".to_owned(), "sim-kernels >=1".to_owned()], ..Wishes::default() };
    for chosen in solve(&[index], &wishes).unwrap_or_default() {
        let file = chosen.url.strip_prefix(CHANNEL).and_then(|path| path.strip_prefix("/linux-64/"));
        assert!(file.is_some_and(|file| !file.contains('/') && !file.is_empty()), "{}", chosen.url);
    }
}
