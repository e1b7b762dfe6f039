//! The description of a machine as its loader sees it: what is built into the loader, what the CPU is,
//! what is configured. Plain values; most of them can be read from the loader's own file.

use schemars::JsonSchema;
use serde::Serialize;

use super::tree::{Opened, Tree};
use crate::arch::GlibcVersion;
use crate::elf::bytes::find;
use crate::elf::ld_cache::{CacheReader, LdCache};

/// Whose rules hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Libc {
    /// The GNU C library.
    Glibc,
    /// musl.
    Musl,
}

/// The CPU, as far as it chooses files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cpu {
    /// Level of the x86-64 psABI, 1 to 4; 1 on other processors.
    pub level: u32,
    /// `$PLATFORM`: `x86_64`, on Intel's also `haswell` or `xeon_phi` (glibc, `sysdeps/x86/cpu-features.c`).
    pub platform: String,
    /// Legacy capabilities by which directories were named until glibc 2.36, the highest bit first.
    pub legacy: Vec<String>,
}

impl Cpu {
    /// A plain x86-64 processor of a level.
    pub fn x86_64(level: u32) -> Self {
        Self { level, platform: "x86_64".to_owned(), legacy: vec!["x86_64".to_owned()] }
    }
}

/// The loader of a machine.
#[derive(Debug, Clone)]
pub struct Loader {
    /// Whose rules hold.
    pub libc: Libc,
    /// Its path, as programs name it.
    pub path: String,
    /// `e_machine` of what it loads.
    pub machine: u16,
    /// Version, when its file says it.
    pub version: Option<GlibcVersion>,
    /// Directories that it searches by itself, in order; for musl the whole of its system path.
    pub directories: Vec<String>,
    /// `$LIB`.
    pub lib: String,
    /// The processor.
    pub cpu: Cpu,
    /// Where the cache lies; `None` for a loader without one.
    pub cache_path: Option<String>,
    /// The cache; `None` when there is none.
    pub cache: Option<LdCache>,
    /// Directories that `ldconfig` was told of, for names that the cache does not have: a layout without
    /// its cache.
    pub configured: Vec<String>,
    /// What `/etc/ld.so.preload` names.
    pub preload: Vec<String>,
}

impl Loader {
    /// A glibc loader of Debian's layout, without cache: a start for tests and for layouts in memory.
    pub fn glibc(machine: u16, directories: &[&str]) -> Self {
        Self {
            libc: Libc::Glibc,
            path: "/lib64/ld-linux-x86-64.so.2".to_owned(),
            machine,
            version: None,
            directories: directories.iter().map(|directory| (*directory).to_owned()).collect(),
            lib: "lib".to_owned(),
            cpu: Cpu::x86_64(1),
            cache_path: None,
            cache: None,
            configured: Vec::new(),
            preload: Vec::new(),
        }
    }

    /// The loader that lies at a path of a tree, with its configuration there. What its file does not
    /// say stays as it is. Answers whether there is such a file.
    pub fn find(&mut self, tree: &dyn Tree, path: &str) -> bool {
        let Opened::File(file) = tree.open(path) else { return false };
        self.read(file.bytes());
        path.clone_into(&mut self.path);
        self.configure(tree);
        true
    }

    /// Reads the configuration: the cache, `/etc/ld.so.preload`, musl's path file.
    pub fn configure(&mut self, tree: &dyn Tree) {
        let text = |path: &str| match tree.open(path) {
            Opened::File(file) => Some(file.bytes().to_vec()),
            _ => None,
        };
        if self.libc == Libc::Musl {
            let name = self.path.rsplit('/').next().unwrap_or_default();
            let arch = name.strip_prefix("ld-musl-").and_then(|rest| rest.split(".so").next()).unwrap_or("x86_64");
            // The path file lies beside the directory of the loader.
            let prefix = self.path.rsplit('/').nth(2).map(|_| self.path.rsplitn(3, '/').last().unwrap_or_default());
            if let Some(bytes) = text(&format!("{}/etc/ld-musl-{arch}.path", prefix.unwrap_or_default())) {
                let entries = String::from_utf8_lossy(&bytes).into_owned();
                let entries = entries.split([':', '\n']).filter(|entry| !entry.is_empty());
                self.directories = entries.map(str::to_owned).collect();
            }
            return;
        }
        self.cache = self.cache_path.as_deref().and_then(text).and_then(|bytes| LdCache::parse(&bytes).ok());
        let preload = text("/etc/ld.so.preload").map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let lines = preload.iter().flat_map(|text| text.lines());
        let lines = lines.map(|line| line.split('#').next().unwrap_or_default());
        let names = lines.flat_map(|line| line.split([' ', '\t', ':'])).filter(|name| !name.is_empty());
        self.preload = names.map(str::to_owned).collect();
    }

    /// What the loader's file says about itself: C library, default directories, `$LIB`, place of the
    /// cache, version. They are texts in it (glibc: `SYSTEM_DIRS`, `DL_DST_LIB`, `LD_SO_CACHE` and the
    /// version banner; musl: `sys_path` of `ldso/dynlink.c`).
    pub fn read(&mut self, bytes: &[u8]) {
        let musl = find(bytes, b"musl libc").is_some();
        self.libc = if musl { Libc::Musl } else { Libc::Glibc };
        // Of several runs of directories the longest, of equal ones the first.
        let (mut run, mut longest): (Vec<&str>, Vec<&str>) = Default::default();
        let mut cache = None;
        for text in bytes.split(|byte| *byte == 0) {
            // The loader's file has tens of thousands of texts, and few of them are paths.
            let text = if text.first() == Some(&b'/') { std::str::from_utf8(text).unwrap_or_default() } else { "" };
            if musl {
                if longest.is_empty() && is_path_of_musl(text) {
                    longest = text.split(':').collect();
                }
                continue;
            }
            if text.len() > 4 && text.ends_with('/') && text.is_ascii() {
                run.push(text.trim_end_matches('/'));
                continue;
            }
            if run.len() > longest.len() {
                std::mem::swap(&mut run, &mut longest);
            }
            run.clear();
            if text.ends_with("/ld.so.cache") {
                cache = cache.or(Some(text));
            }
        }
        if !longest.is_empty() {
            self.directories = longest.into_iter().map(str::to_owned).collect();
        }
        if musl {
            self.cache_path = None;
            return;
        }
        // `$LIB` stands as a text of its own: the system directories are made of it.
        let alone = |text: &&str| find(bytes, format!("\0{text}\0").as_bytes()).is_some();
        if let Some(lib) = self.directories.iter().filter_map(|text| text.strip_prefix("/usr/")).find(alone) {
            self.lib = lib.to_owned();
        }
        self.cache_path = cache.map(str::to_owned).or(self.cache_path.take());
        const BANNER: &[u8] = b"release version ";
        let banner = find(bytes, BANNER).and_then(|at| bytes.get(at + BANNER.len()..));
        let version = banner.map(|rest| rest.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.'));
        let version = version.map(|digits| digits.map(|byte| char::from(*byte)).collect::<String>());
        self.version = version.and_then(|text| text.trim_end_matches('.').parse().ok()).or(self.version);
    }

    /// Subdirectories that come before a directory itself, each with a slash at its end: of
    /// `glibc-hwcaps` (glibc 2.33 and later), then of the legacy kind (until 2.36).
    pub fn subdirectories(&self) -> Vec<String> {
        if self.libc == Libc::Musl {
            return Vec::new();
        }
        let mut all: Vec<String> = Vec::new();
        if self.since(2, 33) {
            all.extend(self.hwcaps().into_iter().map(|name| format!("glibc-hwcaps/{name}/")));
        }
        if self.has_legacy() {
            // Every subset of these, counted down as a binary number (`_dl_important_hwcaps`).
            let names: Vec<&str> = ["tls", self.cpu.platform.as_str()]
                .into_iter()
                .chain(self.cpu.legacy.iter().map(String::as_str))
                .collect();
            for bits in (1..1_u32 << names.len()).rev() {
                let taken = names.iter().enumerate().filter(|(index, _)| bits >> (names.len() - 1 - index) & 1 == 1);
                let path: String = taken.map(|(_, name)| format!("{name}/")).collect();
                if !all.contains(&path) {
                    all.push(path);
                }
            }
        }
        all
    }

    /// Names of `glibc-hwcaps` subdirectories that this CPU takes, best first.
    fn hwcaps(&self) -> Vec<String> {
        let x86_64 = self.machine == object::elf::EM_X86_64.0;
        (2..=self.cpu.level).rev().filter(|_| x86_64).map(|level| format!("x86-64-v{level}")).collect()
    }

    fn since(&self, major: u32, minor: u32) -> bool {
        self.version.is_none_or(|version| version >= GlibcVersion::new(major, minor))
    }

    /// Legacy subdirectories were removed in glibc 2.37.
    fn has_legacy(&self) -> bool {
        self.version.is_some() && !self.since(2, 37) && !self.cpu.legacy.is_empty()
    }

    /// How this loader reads the cache.
    pub(super) fn cache_reader(&self) -> CacheReader {
        let mut legacy = 0;
        if self.has_legacy() {
            // HWCAP_X86_64, HWCAP_X86_AVX512_1, the TLS bit; platforms start at bit 48.
            legacy |= 1 << 1 | 1 << 63;
            if self.cpu.legacy.iter().any(|name| name == "avx512_1") {
                legacy |= 1 << 2;
            }
            legacy |= match self.cpu.platform.as_str() {
                "haswell" => 1 << 50,
                "xeon_phi" => 1 << 51,
                _ => 0,
            };
        }
        CacheReader { flags: self.cache_flags(), hwcaps: self.hwcaps(), level: self.cpu.level, legacy }
    }

    /// `_DL_CACHE_DEFAULT_ID` of the machine (glibc, `sysdeps/*/dl-cache.h`).
    fn cache_flags(&self) -> u32 {
        match object::elf::Machine(self.machine) {
            object::elf::EM_X86_64 => 0x0303,
            object::elf::EM_AARCH64 => 0x0a03,
            object::elf::EM_PPC64 => 0x0503,
            object::elf::EM_RISCV => 0x1003,
            _ => 0x0003,
        }
    }
}

/// Whether a text is musl's list of directories.
fn is_path_of_musl(text: &str) -> bool {
    text.contains(':') && text.split(':').all(|part| part.starts_with('/') && part.contains("lib"))
}

/// What a process is started with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Environment {
    /// `LD_LIBRARY_PATH`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library_path: Option<String>,
    /// `LD_PRELOAD`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preload: Option<String>,
    /// Current directory: relative entries count from it.
    pub directory: String,
    /// The process has more rights than its caller (set-user-ID): the loader is strict.
    pub secure: bool,
}
