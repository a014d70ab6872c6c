#!/usr/bin/env python3
"""Keeps the style of the sources: pure cores, small files and functions, opening comments, formatting.

Every finding says where, what and the cure. It reads text and knows no C++ grammar: where it is wrong, make it wiser
rather than the code worse. `--self-test` feeds each rule a bad snippet that it must catch.
"""
import bisect
import fnmatch
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FILE_LIMIT, FUNCTION_LIMIT, TEST_LIMIT = 500, 80, 120
LINT = re.compile(r"\.(h|cc|proto|py|sh|cmake|toml|md|json|service)$|(^|/)CMakeLists\.txt$|^\.ci/run$")
CPP = re.compile(r"\.(h|cc)$")

# Cores are what the simulator runs: the same input must give the same steps.
CORE = ["core/*", "wire/*", "broker/*", "replica/replica.*", "replica/links.*", "replica/copies.*", "replica/failover.*",
        "replica/copy_table.h", "replica/event.h", "replica/effect.h", "replica/limits.h", "client/session*",
        "client/brokers.*", "client/answered.h", "client/limits.h", "lab/proxy/held.*"]
NOT_CORE = ["broker/shell*", "broker/connection*", "broker/main.cc", "broker/flags.*", "broker/admin*",
            "broker/memory_file.*"]
IMPURE_INCLUDE = re.compile(
    r"""^\s*\#\s*include\s*[<"](
        asio\b.*|spdlog/.*|thread|stop_token|mutex|shared_mutex|condition_variable|future|semaphore|latch|barrier|
        iostream|fstream|filesystem|(sys/(?!uio)|netinet/|arpa/|net/)[a-z0-9_]+\.h|unistd\.h|poll\.h|netdb\.h|pthread\.h|fcntl\.h|
        net/.*|options/.*|tool/.*|broker/shell.*)[>"]""", re.X | re.M)
IMPURE_CALL = re.compile(r"\b(\w*[Cc]lock(::|\s*\.\s*)now\s*\(|system_clock\b|high_resolution_clock\b|random_device\b"
                         r"|s?rand\s*\(|clock_gettime\s*\(|gettimeofday\s*\(|getenv\s*\()")
UNORDERED = re.compile(r"\bunordered_(?:multi)?(?:map|set)\s*<[^;{}()]*>\s+(\w+)\s*(?:;|=|\{|,|\))")
# Spelt apart, so that this file passes its own check.
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
PLACEHOLDER = re.compile(r"@[A-Z][A-Z0-9_]*@")
SLEEP = re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep|time\.sleep|sleep)\s*\(")


def matches(path, patterns):
    return any(fnmatch.fnmatch(path, pattern) for pattern in patterns)


def is_core(path):
    return bool(CPP.search(path)) and matches(path, CORE) and not matches(path, NOT_CORE)


TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^()\s\\]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\'',
                   re.S)


def code_only(text):
    """The text with comments and literals blanked, every line where it was; what is included is kept."""

    def blank(match):
        line_start = text.rfind("\n", 0, match.start()) + 1
        if match.group(0)[0] == '"' and re.match(r"\s*#\s*include", text[line_start:]):
            return match.group(0)
        return re.sub(r"[^\n]", " ", match.group(0))

    return TOKEN.sub(blank, text)


class Lines:
    """Turns offsets into line numbers."""

    def __init__(self, text):
        self.starts = [0] + [match.end() for match in re.finditer("\n", text)]

    def at(self, offset):
        return bisect.bisect_right(self.starts, offset)


def purity(path, text, code, lines, context):
    if CPP.search(path) and path != "tests/protobuf_test.cc":
        for match in re.finditer(r'^\s*#\s*include\s*[<"][^">]*\.pb\.h', code, re.M):
            yield (lines.at(match.end()), "generated protobuf code is for tests/protobuf_test.cc alone: use the structs "
                   "of wire/message.h")
    if not is_core(path):
        return
    for match in IMPURE_INCLUDE.finditer(code):
        yield (lines.at(match.end()), f"a core includes {match.group(1)}: move what needs it into the shell and hand "
               "its result in as an event")
    for match in IMPURE_CALL.finditer(code):
        yield (lines.at(match.start()), f"a core calls {match.group(1).rstrip('( ')}: take the time (or a seeded Random) "
               "as an argument")
    for name in context.get(os.path.dirname(path), ()):
        for match in re.finditer(rf"\bfor\s*\([^;()]*[^:]:\s*(?:[\w.\->]*(?:\.|->))?{name}\s*\)", code):
            yield (lines.at(match.start()), f"a core walks the unordered container {name}, in an order that differs "
                   "between machines: use an ordered container, or keep the order beside it")


def functions(code):
    """(first offset, last offset, head) of each function at namespace or class level; best effort."""
    stack, start = [], 0  # stack of (kind, offset of the head, head)
    for match in re.finditer(r"[{};]|^\s*#[^\n]*", code, re.M):
        token = match.group(0)
        if token[-1] not in "{};" or token.lstrip().startswith("#"):
            start = match.end()
            continue
        outside = all(kind in ("namespace", "class") for kind, _, _ in stack)
        if token == "{":
            head = code[start:match.start()]
            kind = "block"
            if outside:
                kind = kind_of(head)
            stack.append((kind, start, head))
            if kind != "initializer":
                start = match.end()
        elif token == "}" and stack:
            kind, head_start, head = stack.pop()
            if kind == "function":
                yield head_start + len(head) - len(head.lstrip()), match.start(), head.strip()
            # A member's initializer is still part of the constructor's head.
            start = head_start if kind == "initializer" else match.end()
        elif token == ";" and not (stack and stack[-1][0] == "initializer"):
            start = match.end()


def kind_of(head):
    if re.search(r"\bnamespace\b|\bextern\s*$", head):
        return "namespace"
    if re.search(r"\)[^;]*[^:]:[^:][^;]*[\w>]\s*$", head):
        return "initializer"
    if re.search(r"\b(class|struct|union|enum)\b[^()]*$", head):
        return "class"
    return "function" if "(" in head else "block"


def sizes(path, text, code, lines, context):
    if not (CPP.search(path) or path.endswith(".py")):
        return
    count = text.count("\n")
    if count > FILE_LIMIT:
        yield FILE_LIMIT, f"the file has {count} lines, over {FILE_LIMIT}: split it by what its parts do (aim: 400)"
    if not CPP.search(path):
        return
    for first, last, head in functions(code):
        is_test = re.match(r"(TYPED_)?TEST(_[FP])?\b", head)
        limit = TEST_LIMIT if is_test else FUNCTION_LIMIT
        length = lines.at(last) - lines.at(first) + 1
        if length > limit:
            name = re.sub(r"\s+", " ", head.split("(")[0])[-60:]
            yield (lines.at(first), f"{name} has {length} lines, over {limit}: give its steps names of their own "
                   "(aim: 60)")


def openings(path, text, code, lines, context):
    if not CPP.search(path):
        return
    if not text.startswith("//"):
        yield 1, "the file does not open with a comment: say in one to three lines what it is and is not"
    if not path.endswith(".h"):
        return
    if not re.search(r"^#pragma once$", text, re.M):
        yield 1, "the header has no #pragma once: put it after the opening comment"
    for match in re.finditer(r"\busing\s+namespace\b", code):
        yield lines.at(match.start()), "using namespace in a header reaches everyone who includes it: name what is used"


def finished(path, text, code, lines, context):
    for match in UNFINISHED.finditer(text):
        yield lines.at(match.start()), f"{match.group(0)} is left: do it now, or say in a sentence what holds and why"


def filled_in(path, text, code, lines, context):
    if not path.endswith(".md"):
        return
    for match in PLACEHOLDER.finditer(text):
        yield (lines.at(match.start()), f"the placeholder {match.group(0)} is left: write what belongs there, or take "
               "its sentence out")


def patience(path, text, code, lines, context):
    if not path.startswith("tests/") or matches(path, ["tests/poll.*", "tests/tidy.py"]):
        return
    for match in SLEEP.finditer(code if CPP.search(path) else text):
        yield (lines.at(match.start()), f"a test calls {match.group(1)}: poll for what it waits for, with a limit "
               "(only tests/poll.* may pause)")


def whitespace(path, text, code, lines, context):
    for number, line in enumerate(text.split("\n"), 1):
        if "\t" in line:
            yield number, "a tab: use spaces"
        if line != line.rstrip():
            yield number, "whitespace at the end of the line: remove it"
    if text and not text.endswith("\n"):
        yield text.count("\n") + 1, "the last line has no end: add a line feed"


RULES = [purity, sizes, openings, finished, filled_in, patience, whitespace]


def check(files):
    """Findings as (path, line, text) for a dictionary of path to text."""
    codes = {path: code_only(text) if CPP.search(path) else text for path, text in files.items()}
    unordered = {}
    for path, code in codes.items():
        if is_core(path):
            unordered.setdefault(os.path.dirname(path), set()).update(UNORDERED.findall(code))
    for path, text in sorted(files.items()):
        lines = Lines(text)
        for rule in RULES:
            for line, what in rule(path, text, codes[path], lines, unordered):
                yield path, line, what


def formatter():
    """clang-format 14, for other versions format differently; None if it is not there."""
    for name in ("clang-format-14", "clang-format"):
        program = shutil.which(name)
        if program and " 14." in subprocess.run([program, "--version"], capture_output=True, text=True).stdout:
            return program
    return None


def check_format(program, paths):
    if not paths:
        return
    result = subprocess.run([program, "--dry-run", "-ferror-limit=1", *paths], capture_output=True, text=True, cwd=ROOT)
    for match in re.finditer(r"^(.+?):(\d+):\d+: \w+: code should be clang-formatted", result.stderr, re.M):
        yield match.group(1), int(match.group(2)), f"not formatted: run clang-format-14 -i {match.group(1)}"


def listed():
    """The files git knows or would add; without git, all that are not in a build folder."""
    git = shutil.which("git")
    if git:
        command = [git, "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode == 0:
            return sorted(path for path in set(result.stdout.split("\0")) if os.path.isfile(os.path.join(ROOT, path)))
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if not re.match(r"build|\.git$|\.cache$|__pycache__", name)]
        found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names]
    return sorted(found)


def main():
    files = {}
    for path in listed():
        if LINT.search(path):
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                files[path] = file.read()
    findings = list(check(files))
    program = formatter()
    if program:
        findings += check_format(program, [path for path in files if CPP.search(path)])
    for path, line, what in findings:
        print(f"{path}:{line}: {what}")
    formatted = "" if program else " (clang-format-14 is not here: formatting not checked)"
    print(f"tidy: {len(files)} files, {len(findings)} findings{formatted}")
    return 1 if findings else 0


GOOD = """// What it is.
#pragma once

#include <vector>

namespace redoubt {
struct Point {
  Point() : x_{1}, y_(2) { x_ = 3; }
  int x_, y_;
};
// Clock::now() is only talked about.
inline const char* kText = "std::random_device and { never closed";
inline constexpr int kMany = 1'000'000;
}  // namespace redoubt
"""


def body(lines):
    return "  x();\n" * lines


# (path, text, part of what must be found); other files the snippet needs stand in EXTRA.
BAD = [
    ("core/a.h", GOOD.replace("<vector>", "<asio.hpp>"), "a core includes asio.hpp"),
    ("core/a.h", GOOD.replace("<vector>", "<asio/ip/tcp.hpp>"), "a core includes asio/ip/tcp.hpp"),
    ("wire/a.h", GOOD.replace("<vector>", "<spdlog/spdlog.h>"), "a core includes spdlog"),
    ("broker/a.h", GOOD.replace("<vector>", "<thread>"), "a core includes thread"),
    ("broker/flow/a.h", GOOD.replace("<vector>", "<mutex>"), "a core includes mutex"),
    ("replica/replica.h", GOOD.replace("<vector>", "<iostream>"), "a core includes iostream"),
    ("client/session.h", GOOD.replace("<vector>", "<sys/socket.h>"), "a core includes sys/socket.h"),
    ("broker/a.h", GOOD.replace("<vector>", '"net/link.h"'), "a core includes net/link.h"),
    ("broker/a.cc", "// A.\nauto t = Clock::now();\n", "a core calls Clock::now"),
    ("broker/a.cc", "// A.\nauto t = std::chrono::steady_clock::now();\n", "a core calls steady_clock::now"),
    ("core/a.cc", "// A.\nauto t = std::chrono::system_clock::from_time_t(0);\n", "a core calls system_clock"),
    ("core/a.cc", "// A.\nstd::random_device seed;\n", "a core calls random_device"),
    ("core/a.cc", "// A.\nint x = rand();\n", "a core calls rand"),
    ("broker/a.cc", "// A.\nstd::unordered_map<int, int> table_;\nvoid f() {\n  for (auto& one : table_) g(one);\n}\n",
     "walks the unordered container table_"),
    ("broker/b.cc", "// B.\nvoid f() {\n  for (auto& [a, b] : state.others_) g(a);\n}\n", "container others_"),
    ("tool/a.cc", '// A.\n#include "proto/client.pb.h"\n', "generated protobuf code is for tests/protobuf_test.cc alone"),
    ("core/a.cc", "// A.\n" + "int x;\n" * FILE_LIMIT, f"lines, over {FILE_LIMIT}"),
    ("tool/a.cc", "// A.\nnamespace a {\nint f(int x) {\n" + body(80) + "}\n}\n",
     f"int f has 82 lines, over {FUNCTION_LIMIT}"),
    ("tool/a.cc", "// A.\nclass A {\n  A() : b_{1}, c_(2) {\n" + body(80) + "  }\n};\n", "A has 82 lines"),
    ("tests/a.cc", "// A.\nTEST(A, B) {\n" + body(120) + "}\n", f"TEST has 122 lines, over {TEST_LIMIT}"),
    ("net/a.h", GOOD.replace("// What it is.\n", ""), "does not open with a comment"),
    ("net/a.cc", "#include <vector>\n", "does not open with a comment"),
    ("net/a.h", GOOD.replace("#pragma once\n", ""), "no #pragma once"),
    ("net/a.h", GOOD + "using namespace std;\n", "using namespace in a header"),
    ("net/a.cc", "// A: TO" "DO more.\n", "is left"),
    ("deploy/a.sh", "# FIX" "ME\n", "is left"),
    ("README.md", "It takes @BUILD_TIME@.\n", "the placeholder @BUILD_TIME@ is left"),
    ("tests/a.cc", "// A.\nvoid f() { std::this_thread::sleep_for(1s); }\n", "a test calls sleep_for"),
    ("tests/a.py", "time.sleep(1)\n", "a test calls time.sleep"),
    ("net/a.cc", "// A. \n", "whitespace at the end"),
    ("CMakeLists.txt", "\tx\n", "a tab"),
    ("net/a.cc", "// A.", "the last line has no end"),
]
EXTRA = {"broker/state.h": "// S.\n#pragma once\nstruct S {\n  std::unordered_set<int> others_;\n};\n"}
FINE = [
    ("net/a.h", GOOD),
    ("broker/shell.cc", "// A.\n#include <thread>\nauto t = Clock::now();\n"),
    ("broker/main.cc", "// A.\n#include <asio.hpp>\n"),
    ("wire/a.h", "// Only a struct.\n#pragma once\n#include <sys/uio.h>\n"),
    ("core/a.h", "// A.\n#pragma once\n#include <chrono>\nusing Clock = std::chrono::steady_clock;\n"),
    ("tests/protobuf_test.cc", '// A.\n#include "client.pb.h"\n'),
    ("broker/a.cc", "// A.\nstd::vector<int> list_;\nvoid f() {\n  for (int x : list_) g(x);\n}\n"),
    ("tool/a.cc", "// A.\nint f() {\n" + body(78) + "}\nint g() {\n" + body(78) + "}\n"),
    ("tests/a.cc", "// A.\nTEST(A, B) {\n" + body(118) + "}\n"),
    ("README.md", "Write to someone@example.org or @SOMEONE.\n"),
    ("cmake/a.cmake", "@PACKAGE_INIT@\n"),
    ("tests/poll.py", "time.sleep(0.01)\n"),
]


def self_test():
    wrong = []
    for path, text, expected in BAD:
        found = [what for where, _, what in check({**EXTRA, path: text}) if where == path]
        if len(found) != 1 or expected not in found[0]:
            wrong.append(f"{path}: expected only '{expected}', found {found or 'nothing'} in:\n{text[:300]}")
    for path, text in FINE:
        found = list(check({path: text}))
        if found:
            wrong.append(f"{path}: expected nothing, found {found} in:\n{text[:300]}")
    program = formatter()
    if program:
        import tempfile
        with tempfile.NamedTemporaryFile("w", suffix=".cc", dir=os.path.join(ROOT, "tests")) as file:
            file.write("int  x  ;\n")
            file.flush()
            if not list(check_format(program, [file.name])):
                wrong.append("clang-format: a badly formatted line was not found")
    print("\n".join(wrong + [f"tidy self-test: {len(BAD) + len(FINE)} snippets, {len(wrong)} wrong"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["--self-test"]):
        sys.exit("usage: tidy.py [--self-test]")
    sys.exit(self_test() if sys.argv[1:] else main())
