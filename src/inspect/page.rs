//! An inspection in words: what it is, its device code, what lacks what, what could not be examined.

use std::collections::{BTreeMap, BTreeSet};

use super::coverage::{Column, Coverage, Row};
use super::facts::{Code, ElfFacts, FileFacts, Inspected, PackageFacts};
use crate::amount::count;
use crate::elf::FileKind;
use crate::gpu::{CodeImage, CodeKind, Kernel, Look, SpirvBinding, SpirvMember, SpirvModule};
use crate::printable;
use crate::ui::size;
use crate::wrap::{columns, terminal, width, wrap};

/// Names up to this length stand before the columns.
const LONGEST_BEFORE: usize = 44;
/// Rows of a list before the rest is only counted; `--json` has all.
const MOST_ROWS: usize = 40;

/// The page about one path.
pub fn page(inspected: &Inspected, coverage: &Coverage, look: Look) -> String {
    let mut page = Page { text: String::new() };
    page.head(inspected);
    match &inspected.files[..] {
        [file] if !inspected.is_tree => page.file(file, look),
        files => page.libraries(files),
    }
    page.code(inspected, coverage, look);
    page.gaps(inspected);
    if !look.kernels && !coverage.rows.is_empty() {
        let deep = if look.deep { " --deep" } else { "" };
        page.line(&format!("next: simpack inspect --kernels{deep} {}", printable::word(&inspected.path)));
    }
    page.text
}

struct Page {
    text: String,
}

impl Page {
    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn field(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            wrap(&format!("  {name:<9} "), 12, value, width()).iter().for_each(|line| self.line(line));
        }
    }

    fn head(&mut self, inspected: &Inspected) {
        let what = match (inspected.seen, inspected.is_tree) {
            (_, false) => size(inspected.bytes),
            (seen, true) => format!("{}, {}", count(seen, "file"), size(inspected.bytes)),
        };
        self.line(&format!("{}  {what}", inspected.path));
        match &inspected.packages[..] {
            [] => {}
            [one] if one.path.is_empty() => self.package(one),
            many => {
                let names = many.iter().map(|package| format!("{} {}", package.name, package.version));
                let names: BTreeSet<String> = names.collect();
                names.iter().take(MOST_ROWS).for_each(|name| self.field("package", name));
                self.more(names.len(), "packages");
            }
        }
    }

    fn more(&mut self, all: usize, what: &str) {
        if all > MOST_ROWS {
            self.line(&format!("  ... and {} more {what}: --json names them", all - MOST_ROWS));
        }
    }

    fn package(&mut self, package: &PackageFacts) {
        self.field("package", &format!("{} {}", package.name, package.version));
        self.field("depends", &package.depends.join(", "));
    }

    fn file(&mut self, file: &FileFacts, look: Look) {
        if let Some(elf) = &file.elf {
            self.elf(elf);
        }
        if let Some(objects) = file.objects {
            let text = format!("static archive, {} of {} with device code", objects.with_device_code, objects.total);
            self.field("objects", &text);
        }
        for (image, module) in file.images.iter().filter_map(|image| Some((image, image.spirv.as_ref()?))) {
            // The version by which text is read is none of its own.
            if image.kind == CodeKind::Spirv {
                self.field("spir-v", &image.device());
            }
            self.shader(module, look);
        }
    }

    fn elf(&mut self, elf: &ElfFacts) {
        self.field("elf", &format!("{}, {}", kind(elf.kind), elf.machine));
        self.field("soname", elf.soname.as_deref().unwrap_or_default());
        self.field("needs", &elf.needed.join(" "));
        self.field("runpath", elf.runpath.as_deref().unwrap_or_default());
        self.field("rpath", elf.rpath.as_deref().unwrap_or_default());
        self.field("glibc", &elf.glibc.map_or(String::new(), |glibc| format!("{glibc} or newer")));
    }

    /// Of a tree: its libraries in a table.
    fn libraries(&mut self, files: &[FileFacts]) {
        let mut rows = Vec::new();
        for file in files {
            if let Some(elf) = file.elf.as_ref().filter(|elf| elf.kind != FileKind::Object) {
                let glibc = elf.glibc.map_or(String::from("-"), |glibc| glibc.to_string());
                rows.push([
                    file.path.to_string(),
                    elf.soname.clone().unwrap_or("-".into()),
                    glibc,
                    elf.needed.join(" "),
                ]);
            }
        }
        if !rows.is_empty() {
            self.line("");
            let head = ["file", "soname", "glibc", "needs"].map(str::to_owned);
            let shown: Vec<_> = rows.iter().take(MOST_ROWS).cloned().collect();
            self.table(head, &shown);
            self.more(rows.len(), "libraries and programs");
        }
        for file in files.iter().filter(|file| file.objects.is_some()) {
            let Some(objects) = file.objects else { continue };
            let (with, total) = (objects.with_device_code, objects.total);
            self.line(&format!("  {}: device code in {with} of {total} objects", file.path));
        }
    }

    /// The last column is cut where the page ends.
    fn table<const N: usize>(&mut self, head: [String; N], rows: &[[String; N]]) {
        let width = |column: usize| {
            let most = rows.iter().chain([&head]).map(|row| row[column].chars().count()).max().unwrap_or(0);
            if column == 0 { most.min(50) } else { most.min(30) }
        };
        let widths: Vec<usize> = (0..N).map(width).collect();
        for row in [&head].into_iter().chain(rows) {
            let cells = row.iter().zip(&widths).enumerate().map(|(index, (cell, width))| {
                // Of a path the end tells more.
                let cell = if index == 0 { cut_front(cell, *width) } else { cut(cell, *width) };
                format!("{cell:<width$}")
            });
            self.line(&cut(&format!("  {}", cells.collect::<Vec<_>>().join("  ")), columns()));
        }
    }

    fn shader(&mut self, module: &SpirvModule, look: Look) {
        self.field("asks for", &module.capabilities.join(", "));
        self.field("extends", &module.extensions.join(", "));
        for entry in &module.entry_points {
            let local = entry.local_size.map_or(String::new(), |[x, y, z]| format!(", local size {x} x {y} x {z}"));
            self.field("entry", &format!("{} ({}{local})", entry.name, entry.stage));
        }
        for binding in &module.bindings {
            self.field("binding", &describe_binding(binding));
            if let (true, Some(block)) = (look.kernels, &binding.block) {
                self.members(&block.members, 1);
            }
        }
        for block in &module.push_constants {
            let bytes = block.size.map_or("unknown size".to_owned(), |size| format!("{size} bytes"));
            self.field("push", &format!("{bytes}  {}", block.name.as_deref().unwrap_or_default()));
            if look.kernels {
                self.members(&block.members, 1);
            }
        }
        if let Some(bytes) = module.workgroup_bytes.filter(|bytes| *bytes > 0) {
            self.field("shared", &format!("{bytes} bytes of a workgroup"));
        }
    }

    fn members(&mut self, members: &[SpirvMember], depth: usize) {
        for member in members {
            let arrays: String = member
                .arrays
                .iter()
                .map(|array| {
                    let count = array.count.map_or(String::new(), |count| count.to_string());
                    array.stride.map_or(format!("[{count}]"), |stride| format!("[{count}] stride {stride}"))
                })
                .collect();
            let offset = member.offset.map_or("-".to_owned(), |offset| offset.to_string());
            let (name, element) = (member.name.as_deref().unwrap_or("-"), &member.element);
            let size = member.size.map_or(String::new(), |size| format!("{size} bytes"));
            let line = format!("{:indent$}{offset:>6}  {name}  {element}{arrays}  {size}", "", indent = 10 + 2 * depth);
            self.line(&line);
            self.members(&member.members, depth + 1);
        }
    }

    fn code(&mut self, inspected: &Inspected, coverage: &Coverage, look: Look) {
        let images: Vec<&CodeImage> = inspected.files.iter().flat_map(|file| &file.images).collect();
        if images.is_empty() {
            let (has_host_code, deep) = (inspected.files.iter().any(|file| file.elf.is_some()), look.deep);
            return self.line(match (inspected.is_filtered, has_host_code && !deep) {
                (true, _) => "  kernels: none of these names",
                (_, true) => "  device code: none found; --deep searches all bytes for some",
                (_, false) => "  device code: none found",
            });
        }
        let stored: u64 = images.iter().map(|image| image.stored_size).sum();
        let unpacked: u64 = images.iter().map(|image| image.unpacked_size).sum();
        let pieces = count(images.len(), "piece");
        self.line("");
        self.line(&format!("device code: {pieces}, {} in the files, {} unpacked", size(stored), size(unpacked)));
        let count = |what: fn(&CodeImage) -> bool| images.iter().filter(|image| what(image)).count();
        let notes = [
            (count(|image| image.hidden), "embedded as data, where the usual tools see nothing"),
            (count(|image| image.empty), "without any kernel: nothing runs of it"),
            (count(|image| image.debug), "with debug information"),
            (count(|image| image.relocatable && !image.left_by_link), "relocatable, not linked yet"),
            (
                count(|image| image.left_by_link),
                "left by a link: the driver links it for GPUs that the link has no code for",
            ),
        ];
        for (number, what) in notes.iter().filter(|(number, _)| *number > 0) {
            self.line(&format!("  {number} {what}"));
        }
        let compilers: BTreeSet<&str> = images.iter().flat_map(|image| &image.compilers).map(String::as_str).collect();
        self.field("made by", &compilers.into_iter().collect::<Vec<_>>().join("; "));
        self.matrix(coverage, look);
        if look.kernels && !inspected.is_tree {
            inspected.files.iter().for_each(|file| self.kernels(&file.images));
        }
    }

    /// Columns that do not fit beside each other follow below.
    fn matrix(&mut self, coverage: &Coverage, look: Look) {
        let mut order: Vec<&Row> = coverage.rows.iter().collect();
        if !look.kernels {
            order.sort_by_key(|row| std::cmp::Reverse(row.cells.iter().sum::<usize>()));
            order.truncate(MOST_ROWS);
        }
        let label = |row: &Row| match (&row.demangled, &row.kernel) {
            (Some(words), _) => words.clone(),
            (None, Some(name)) => name.clone(),
            (None, None) if row.group.is_empty() => "pieces".to_owned(),
            (None, None) => row.group.clone(),
        };
        let longest = order.iter().map(|row| label(row).chars().count() + 2).max().unwrap_or(0);
        // Who reads a file or a pipe wants whole names: where they are long they stand behind the columns.
        let is_behind = terminal().is_none() && look.kernels && longest > LONGEST_BEFORE;
        let first = if is_behind { 0 } else { longest.clamp(18, LONGEST_BEFORE) };
        let room = if is_behind { usize::MAX } else { width() };
        let mut rest: &[Column] = &coverage.columns;
        let mut start = 0;
        while !rest.is_empty() {
            let mut used = first;
            let fits = rest.iter().take_while(|column| {
                used += cell_width(column);
                used <= room
            });
            let count = fits.count().max(1);
            self.part(&order, &rest[..count], start, first, &label);
            start += count;
            rest = &rest[count..];
        }
        if !look.kernels {
            self.more(coverage.rows.len(), "files");
        }
        let holes: Vec<&Row> = coverage.rows.iter().filter(|row| !row.missing.is_empty()).collect();
        for row in holes.iter().take(MOST_ROWS) {
            self.line(&format!("  missing: {} for {}", label(row), row.missing.join(", ")));
        }
        self.more(holes.len(), "kernels with holes");
    }

    /// Columns beside each other; with room for names, which is `first`, before them, and without behind.
    fn part(&mut self, rows: &[&Row], columns: &[Column], start: usize, first: usize, label: &dyn Fn(&Row) -> String) {
        self.line("");
        // A kind stands above the first of its columns.
        let (mut kinds, mut devices) = (" ".repeat(first), " ".repeat(first));
        let mut before = None;
        for column in columns {
            let width = cell_width(column);
            let kind = if before == Some(kind_name(column.kind)) { "" } else { kind_name(column.kind) };
            kinds.push_str(&format!("{kind:>width$}"));
            devices.push_str(&format!("{:>width$}", column.device));
            before = Some(kind_name(column.kind));
        }
        self.line(&kinds);
        self.line(&devices);
        let name = |name: &str| if first > 0 { format!("{:<first$}", format!("  {name}")) } else { String::new() };
        let behind = |name: &str| if first > 0 { String::new() } else { format!("  {name}") };
        let mut group = "";
        for row in rows {
            if row.kernel.is_some() && row.group != group {
                self.line(&format!("  {}", row.group));
                group = &row.group;
            }
            let label = label(row);
            let short = match (first, row.kernel.is_some()) {
                (0, _) => label.clone(),
                (first, true) => cut(&label, first - 2),
                (first, false) => cut_front(&label, first - 2),
            };
            let mut line = name(&short);
            for (column, cell) in columns.iter().zip(&row.cells[start..]) {
                let text = match (cell, row.kernel.is_some()) {
                    (0, _) => "-".to_owned(),
                    (1, true) => "x".to_owned(),
                    (number, _) => number.to_string(),
                };
                line.push_str(&format!("{text:>width$}", width = cell_width(column)));
            }
            line.push_str(&behind(&label));
            self.line(&line);
        }
        let mut line = name("bytes");
        columns.iter().for_each(|column| {
            line.push_str(&format!("{:>width$}", size(column.stored_size), width = cell_width(column)));
        });
        line.push_str(&behind("bytes"));
        self.line(&line);
    }

    /// Of one file: what each kernel takes and uses.
    fn kernels(&mut self, code: &Code) {
        let mut by_name: BTreeMap<&str, Vec<(&CodeImage, &Kernel)>> = BTreeMap::new();
        for image in code.iter().filter(|image| image.spirv.is_none()) {
            for kernel in &image.kernels {
                by_name.entry(&kernel.signature.name).or_default().push((image, kernel));
            }
        }
        for (name, found) in by_name {
            self.line("");
            self.line(&code.words(name).map_or(name.to_owned(), |words| format!("{words}  {name}")));
            let params = |kernel: &Kernel| {
                let list = kernel.signature.params.iter().map(|param| format!("{}:{}", param.offset, param.size));
                if kernel.signature.params.is_empty() { "none".to_owned() } else { list.collect::<Vec<_>>().join(" ") }
            };
            let layouts: BTreeSet<String> = found.iter().map(|(_, kernel)| params(kernel)).collect();
            for layout in layouts {
                self.field("params", &layout);
            }
            self.line("  target       registers  shared  constant  stack  local  barriers  threads");
            for (image, kernel) in found {
                let target = image.target().map_or("?".to_owned(), |target| target.to_string());
                let Some(uses) = kernel.resources else {
                    self.line(&format!("  {target:<13} known when the driver compiles it"));
                    continue;
                };
                let stack = uses.stack.map_or("?".to_owned(), |stack| stack.to_string());
                let threads = uses.max_threads.map_or("-".to_owned(), |[x, y, z]| format!("{x},{y},{z}"));
                self.line(&format!(
                    "  {target:<11}  {:>9}  {:>6}  {:>8}  {stack:>5}  {:>5}  {:>8}  {threads:>7}",
                    uses.registers, uses.shared, uses.constant, uses.local, uses.barriers
                ));
            }
        }
    }

    fn gaps(&mut self, inspected: &Inspected) {
        if inspected.unexamined.is_empty() {
            return;
        }
        self.line("");
        self.line(&format!("not examined: {}", inspected.unexamined.len()));
        for gap in inspected.unexamined.iter().take(MOST_ROWS) {
            let path = if gap.path.is_empty() { String::new() } else { format!("{}: ", gap.path) };
            self.line(&format!("  {path}{}", gap.reason));
        }
        self.more(inspected.unexamined.len(), "gaps");
    }
}

fn cell_width(column: &Column) -> usize {
    let cells = [&column.device, &size(column.stored_size), kind_name(column.kind)];
    cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0) + 2
}

fn kind_name(kind: CodeKind) -> &'static str {
    match kind {
        CodeKind::Sass => "SASS",
        CodeKind::Ptx => "PTX",
        CodeKind::LtoIr => "LTO-IR",
        CodeKind::Spirv => "SPIR-V",
        CodeKind::Wgsl => "WGSL",
        CodeKind::Offload => "HIP",
        CodeKind::Other(_) => "unknown",
    }
}

fn kind(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Object => "object",
        FileKind::Executable => "program at fixed addresses",
        FileKind::PieExecutable => "program",
        FileKind::StaticPie => "static program",
        FileKind::Library => "shared library",
        FileKind::Other(_) => "file of an unusual kind",
    }
}

fn describe_binding(binding: &SpirvBinding) -> String {
    let resource = serde_json::to_value(binding.resource).ok();
    let resource = resource.as_ref().and_then(|value| value.as_str()).unwrap_or_default();
    let count = match binding.count {
        Some(1) => String::new(),
        Some(count) => format!(" x {count}"),
        None => " x as many as the host says".to_owned(),
    };
    let bytes = binding.block.as_ref().and_then(|block| block.size);
    let bytes = bytes.map_or(String::new(), |bytes| format!(", {bytes} bytes"));
    let name = binding.name.as_deref().unwrap_or_default();
    format!("set {} binding {}  {resource}{count}{bytes}  {name}", binding.set, binding.binding)
}

fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(3)).collect();
    format!("{kept}...")
}

/// The last characters of a path.
fn cut_front(text: &str, width: usize) -> String {
    let count = text.chars().count();
    if count <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().skip(count - width.saturating_sub(3)).collect();
    format!("...{kept}")
}
