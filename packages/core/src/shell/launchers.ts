/** Programs that start another program: `sudo`, `xargs`, `npx` and others. */
import { split } from "./options.ts";
import type { Arg } from "./words.ts";

const named = (words: string): ReadonlySet<string> => new Set(words.split(" ").filter((word) => word !== ""));

/** `skips`: arguments before the program. `assigns`: `NAME=value` may come before it. `runs`: it shows as a run itself. */
interface Launcher {
  readonly valued: ReadonlySet<string>;
  readonly skips: number;
  readonly assigns?: true;
  readonly runs?: boolean;
}

const launcher = (valued = "", skips = 0): Launcher => ({ valued: named(valued), skips });

const launchers: ReadonlyMap<string, Launcher> = new Map([
  [
    "sudo",
    { ...launcher("-u -g -h -p -C -T -r -t -U -D -R --user --group --host --prompt"), assigns: true, runs: true },
  ],
  ["doas", { ...launcher("-u -C"), runs: true }],
  ["pkexec", { ...launcher("--user"), runs: true }],
  ["env", { ...launcher("-u -C -S --unset --chdir --split-string"), assigns: true }],
  ["cross-env", { ...launcher(), assigns: true }],
  [
    "xargs",
    launcher("-I -i -n -P -L -l -d -s -a -E --max-args --max-procs --replace --delimiter --arg-file --max-lines"),
  ],
  ["timeout", launcher("-k -s --kill-after --signal", 1)],
  ["gtimeout", launcher("-k -s --kill-after --signal", 1)],
  ["nice", launcher("-n --adjustment")],
  ["ionice", launcher("-c -n --class --classdata")],
  ["stdbuf", launcher("-i -o -e --input --output --error")],
  ["time", launcher("-f -o --format --output")],
  ["flock", launcher("-w --timeout -E", 1)],
  ["chroot", { ...launcher("--userspec --groups", 1), runs: true }],
  ["strace", launcher("-o -e -p -s -u -E")],
  ["systemd-run", { ...launcher("-p -u --unit --property --uid --gid --slice -E --setenv"), runs: true }],
  ["exec", launcher("-a")],
  ["script", { ...launcher("-c", 0), runs: true }],
  ...[
    "fakeroot",
    "xvfb-run",
    "valgrind",
    "ltrace",
    "rlwrap",
    "firejail",
    "nohup",
    "setsid",
    "command",
    "builtin",
    "caffeinate",
    "unbuffer",
    "chronic",
    "noglob",
    "busybox",
  ].map((name): [string, Launcher] => [name, launcher()]),
]);

/** `npm exec`, `uv run` and others. The words after them are a command of the project's packages. */
const packageLaunchers = (
  [
    ["npx", "-p --package -c --call -w --workspace --registry"],
    ["bunx", "-p --package"],
    ["uvx", "--from --with -p --python --index-url"],
    ["pnpx", ""],
    ["npm exec", "-p --package -c --call -w --workspace"],
    ["npm x", "-p --package -c --call"],
    ["pnpm exec", ""],
    ["pnpm dlx", "--package"],
    ["yarn exec", ""],
    ["yarn dlx", "-p --package"],
    ["bun x", ""],
    ["bundle exec", ""],
    ["poetry run", ""],
    ["pipenv run", ""],
    ["pdm run", ""],
    ["hatch run", ""],
    ["pipx run", "--spec --index-url"],
    ["uv run", "--with -p --python --env-file --project --extra --group --with-requirements --package"],
    ["uv tool run", "--from --with"],
    ["conda run", "-n --name -p --prefix"],
    ["mise exec", ""],
    ["mise x", ""],
    ["direnv exec", ""],
    ["dotenv", "-e -f"],
    ["op run", "--env-file"],
    ["doppler run", "-p -c --project --config"],
  ] as const
).map(([words, valued]) => ({ words: words.split(" "), valued: named(valued) }));

export interface Launched {
  /** The started program and its arguments; empty: none. */
  readonly words: readonly Arg[];
  /** The words that start it also show as a run. */
  readonly runs: boolean;
  readonly assigned: readonly string[];
}

/** Returns what the command starts; null: it starts no other command. */
export function launchedBy(program: string, args: readonly Arg[]): Launched | null {
  const found = launchers.get(program);
  if (found !== undefined) return launched(found, program, args);
  for (const {
    words: [first, ...others],
    valued,
  } of packageLaunchers) {
    if (first !== program || !others.every((word, at) => args[at]?.text === word)) continue;
    const rest = afterOptions(args.slice(others.length), valued);
    return { words: withoutVersion(rest), runs: true, assigned: [] };
  }
  return null;
}

function launched({ valued, skips, assigns, runs = false }: Launcher, program: string, args: readonly Arg[]): Launched {
  if (program === "command" && /^-[vV]+$/.test(args[0]?.text ?? "")) return { words: [], runs: false, assigned: [] };
  let rest = afterOptions(args, valued);
  const assigned: string[] = [];
  while (assigns === true && /^[A-Za-z_]\w*=/.test(rest[0]?.text ?? "")) {
    assigned.push(rest[0]?.text ?? "");
    rest = rest.slice(1);
  }
  return { words: rest.slice(skips), runs, assigned };
}

/** Returns the arguments after the leading options, which belong to the launcher. */
function afterOptions(args: readonly Arg[], valued: ReadonlySet<string>): readonly Arg[] {
  for (let at = 0; at < args.length; at += 1) {
    const text = args[at]?.text ?? "";
    if (text === "--") return args.slice(at + 1);
    if (!text.startsWith("-") || text === "-") return args.slice(at);
    const [option] = split([args[at] as Arg], valued).options.slice(-1);
    if (option !== undefined && option.value === null && valued.has(option.name)) at += 1;
  }
  return [];
}

/** `prisma@6` starts `prisma`. */
function withoutVersion([first, ...others]: readonly Arg[]): readonly Arg[] {
  if (first === undefined) return [];
  return [{ ...first, text: first.text.replace(/(?<=.)@[^/]*$/, "").replace(/^@[^/]+\//, "") }, ...others];
}
