//! What is shown of a step that failed is why it failed, by real compilers, linkers and build systems, wherever in their
//! output that stands.

use crate::hermetic::Small;
use crate::support::{Ran, simpack};

/// The lines that are shown of a build that fails.
fn shown(small: &Small) -> Vec<String> {
    let mut command = simpack(small.dir.path(), &["build", "tiny", "--sandbox", "off"]);
    let ran = Ran::of(command.env("SIMPACK_CACHE_DIR", small.view())).exit(5);
    let (_, shown) = ran.stderr.split_once("error: ").unwrap();
    let shown: Vec<String> =
        shown.lines().take_while(|line| !line.contains("command and output: ")).map(str::to_owned).collect();
    assert!(shown.len() <= 24, "{shown:#?}");
    shown
}

#[track_caller]
fn holds(small: &Small, words: &[&str]) {
    let shown = shown(small);
    for words in words {
        assert!(shown.iter().any(|line| line.contains(words)), "{words}:\n{}", shown.join("\n"));
    }
}

fn numbered(text: &str, count: usize) -> String {
    (0..count).map(|number| text.replace("N", &number.to_string())).collect()
}

#[test]
fn errors_of_cmake_stand_behind_its_warnings() {
    let noise = "foreach(n RANGE 30)\n  message(STATUS \"Looking for x${n} - not found\")\n  message(WARNING \"no error: x${n}\")\nendforeach()\n";
    holds(
        &Small::cmake(&format!("{noise}message(FATAL_ERROR \"MPI is needed\")\n")),
        &["CMake Error at CMakeLists.txt", "MPI is needed"],
    );
    // A compiler that compiles nothing: CMake says so around what the compiler said.
    let small = Small::cmake("");
    let recipe = fs_err::read_to_string(small.path("simpack.toml")).unwrap();
    small.write(
        "simpack.toml",
        &recipe.replace("driver = \"cmake\"", "driver = \"cmake\"\noptions = { CMAKE_C_FLAGS = \"-fno-such-flag\" }"),
    );
    holds(&small, &["CMake Error at", "unrecognized command-line option"]);
}

#[test]
fn errors_of_compilers_and_linkers_stand_among_warnings() {
    // Ninja goes on with what runs beside the one that fails.
    let small = Small::cmake("target_sources(tiny PRIVATE src/loud.c src/wrong.c)\n");
    small.write("src/loud.c", &numbered("#warning \"warning N of many\"\n", 60));
    small.write("src/wrong.c", "int wrong(void) { return nothing; }\n");
    holds(&small, &["'nothing' undeclared", "return nothing"]);
    let small =
        Small::cmake("target_sources(tiny PRIVATE src/loud.c)\ntarget_link_options(tiny PRIVATE -Wl,--no-undefined)\n");
    let loud = numbered("#warning \"warning N of many\"\n", 60);
    small.write("src/loud.c", &format!("{loud}int missing(void);\nint loud(void) {{ return missing(); }}\n"));
    holds(&small, &["undefined reference to `missing'"]);
    // Many candidates of a template, each with notes.
    let small = Small::cmake("enable_language(CXX)\ntarget_sources(tiny PRIVATE src/use.cc)\n");
    let candidates = numbered("struct SN {};\nvoid take(SN, SN);\n", 200);
    small.write("src/take.h", &format!("{candidates}template <class T> void use(T t) {{ take(t); }}\n"));
    small.write("src/use.cc", "#include \"take.h\"\nvoid here() { use(3); }\nint next = nothing;\n");
    holds(
        &small,
        &["required from here", "no matching function for call", "'nothing' was not declared", "more lines)"],
    );
}

#[test]
fn errors_of_make_stand_before_what_went_on() {
    let recipe = |small: &Small| {
        let recipe = fs_err::read_to_string(small.path("simpack.toml")).unwrap();
        small.write("simpack.toml", &recipe.replace("\"build.sh\"]\n", "\"build.sh\", \"Makefile\"]\n"));
    };
    let rules = "all: wrong.o $(foreach n,1 2 3 4 5 6 7 8,slow$(n))\n%.o: src/%.c\n\t$(CC) -c -o $@ $<\nslow%:\n\tfor n in 1 2 3 4 5 6 7 8; do echo step $$n; done; sleep 0.1\n";
    for keep_going in ["", "MAKEFLAGS += -k\n"] {
        let small = Small::new("driver = \"make\"", &[("Makefile", &format!("{keep_going}{rules}"))]);
        recipe(&small);
        small.write("src/wrong.c", "int wrong(void) { return nothing; }\n");
        holds(&small, &["'nothing' undeclared"]);
    }
}

#[test]
fn errors_of_scripts_are_shown_of_both_streams() {
    let noise = "for n in $(seq 60); do echo step $n; echo trace $n >&2; done\n";
    let said = "echo 'mesh 7 has a hole'\necho 'giving up on it' >&2\nexit 3\n";
    holds(&Small::script(&format!("{noise}{said}")), &["mesh 7 has a hole", "giving up on it"]);
    let on_stdout = format!(
        "{noise}echo 'mesh.c:7:1: error: a hole'\n{noise}echo 'make: *** [Makefile:3: all] Error 2' >&2\nexit 2\n"
    );
    holds(&Small::script(&on_stdout), &["mesh.c:7:1: error: a hole"]);
    holds(&Small::script(&format!("{noise}no-such-compiler -c x.c\n{noise}")), &["no-such-compiler: not found"]);
}
