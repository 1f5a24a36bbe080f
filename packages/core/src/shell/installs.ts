/** Packages that a command fetches and installs by name. A lock file or a list of the project names none. */
import { split } from "./options.ts";
import type { Arg } from "./words.ts";

const options = (words: string): ReadonlySet<string> => new Set(words.split(" "));

interface Installer {
  readonly system: string;
  /** The words after the program; each is an alternative. */
  readonly after: RegExp;
  readonly valued: ReadonlySet<string>;
}

const js = options("--prefix -C --dir --filter -F -w --workspace --registry --tag --cwd");
/** `-w` of pnpm has no value. */
const pnpm = options("--prefix -C --dir --filter -F --registry --tag");
const pip = options(
  "-r --requirement -c --constraint -e --editable -i --index-url --extra-index-url -t --target -f --find-links --python -p --only-binary --no-binary --group --with-requirements --src",
);
const os = options("-t --target-release -o -c --option");

const installers: ReadonlyMap<string, readonly Installer[]> = new Map([
  [
    "npm",
    [{ system: "npm", after: /^(?:i|in|ins|inst|insta|instal|install|add|isntall) |^(?:init|create) /, valued: js }],
  ],
  ["pnpm", [{ system: "npm", after: /^(?:i|install|add|create|dlx) /, valued: pnpm }]],
  ["yarn", [{ system: "npm", after: /^(?:global )?add |^(?:create|dlx) /, valued: js }]],
  ["bun", [{ system: "npm", after: /^(?:i|install|add|a|create|x) /, valued: js }]],
  ["deno", [{ system: "deno", after: /^(?:install|add) /, valued: js }]],
  ["pip", [{ system: "pip", after: /^install /, valued: pip }]],
  ["pipx", [{ system: "pip", after: /^(?:install|run|inject) /, valued: pip }]],
  ["uv", [{ system: "pip", after: /^(?:pip install|add|tool install|tool run) /, valued: pip }]],
  ["poetry", [{ system: "pip", after: /^add /, valued: options("-G --group --source -E --extras") }]],
  ["pipenv", [{ system: "pip", after: /^install /, valued: pip }]],
  [
    "conda",
    [{ system: "conda", after: /^(?:install|create) /, valued: options("-n --name -c --channel -p --prefix") }],
  ],
  [
    "mamba",
    [{ system: "conda", after: /^(?:install|create) /, valued: options("-n --name -c --channel -p --prefix") }],
  ],
  [
    "cargo",
    [
      {
        system: "cargo",
        after: /^(?:add|install|binstall) /,
        valued: options(
          "--git --branch --tag --rev --path --version -F --features --root --registry --rename -p --package",
        ),
      },
    ],
  ],
  ["go", [{ system: "go", after: /^(?:get|install) /, valued: options("-C -modfile") }]],
  ["gem", [{ system: "gem", after: /^install /, valued: options("-v --version -i --install-dir -s --source") }]],
  ["bundle", [{ system: "gem", after: /^add /, valued: options("-v --version -g --group -s --source") }]],
  ["composer", [{ system: "composer", after: /^(?:global )?require /, valued: options("-d --working-dir") }]],
  [
    "dotnet",
    [
      {
        system: "nuget",
        after: /^(?:add (?:\S+ )?package|tool install) /,
        valued: options("-v --version -s --source --framework"),
      },
    ],
  ],
  ["brew", [{ system: "brew", after: /^(?:install|reinstall|upgrade|tap) /, valued: options("--appdir") }]],
  ...["apt", "apt-get", "dnf", "yum", "zypper", "microdnf"].map((name): [string, Installer[]] => [
    name,
    [{ system: name, after: /^install /, valued: os }],
  ]),
  ["apk", [{ system: "apk", after: /^add /, valued: options("-t --virtual -X --repository") }]],
  ["pacman", [{ system: "pacman", after: /^-S\w* /, valued: os }]],
  ["snap", [{ system: "snap", after: /^install /, valued: options("--channel") }]],
  ["gh", [{ system: "gh", after: /^extension install /, valued: os }]],
  ["code", [{ system: "vscode", after: /^--install-extension /, valued: os }]],
  ["claude", [{ system: "claude", after: /^(?:plugin install|mcp add(?:-json)?) /, valued: os }]],
]);

/** Names such as `npm:left-pad`. Paths of the project and archives in it do not count. */
export function installsOf(program: string, args: readonly Arg[]): readonly string[] {
  const name = /^pip[\d.]*$/.test(program) ? "pip" : program;
  for (const { system, after, valued } of installers.get(name) ?? []) {
    const words = args.map(({ text }) => text);
    const found = after.exec(`${words.join(" ")} `)?.[0];
    if (found === undefined) continue;
    const { rest } = split(args.slice(found.trim().split(" ").length), valued);
    return rest.flatMap(({ text }) => (isLocal(text, system) ? [] : [`${system}:${text}`]));
  }
  return [];
}

/** Packages that a launcher such as `npx` fetches if the project lacks them. */
export function fetchedBy(program: string, started: Arg | undefined): readonly string[] {
  if (started === undefined || isLocal(started.text, "npm")) return [];
  if (/^(?:npx|bunx|pnpx|npm|pnpm|yarn|bun)$/.test(program)) return [`npx:${started.text}`];
  return /^(?:uvx|pipx)$/.test(program) ? [`pip:${started.text}`] : [];
}

function isLocal(text: string, system: string): boolean {
  if (text === "." || /^(?:\.{1,2}\/|\/|~\/|file:|link:|workspace:)/.test(text)) return true;
  return system === "go" && /^\.\.?$|^\.\.?\//.test(text);
}
