/** The rooms of the code and their allowed imports. See ARCHITECTURE.md. */

import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path/posix";

/** A package, or a folder of packages/server/src. `free` may import anything, and no other room may import it. */
export type Room =
  | "contract"
  | "cel"
  | "core"
  | "ports"
  | "store"
  | "operations"
  | "http"
  | "worker"
  | "edge"
  | "server"
  | "sdk"
  | "mcp"
  | "cli"
  | "console"
  | "free";

const serverFolders = ["store", "operations", "http", "worker", "edge"] as const;

/** `{contract, cel} ← core ← store ← operations ← {http, worker} ← edge ← cli`. cel imports no other room. */
const mayImport: Record<Room, readonly Room[]> = {
  contract: [],
  cel: [],
  core: ["contract", "cel"],
  ports: ["contract", "core"],
  store: ["contract", "cel", "core", "ports"],
  operations: ["contract", "cel", "core", "ports", "store"],
  http: ["contract", "cel", "core", "ports", "store", "operations"],
  worker: ["contract", "cel", "core", "ports", "store", "operations"],
  edge: ["contract", "cel", "core", "ports", "store", "operations", "http", "worker"],
  server: ["contract", "cel", "core", "ports", "store", "operations", "http", "worker", "edge"],
  sdk: ["contract"],
  console: ["contract", "sdk"],
  mcp: ["contract", "sdk"],
  cli: ["contract", "cel", "core", "server", "sdk", "mcp"],
  free: [
    "contract",
    "cel",
    "core",
    "ports",
    "store",
    "operations",
    "http",
    "worker",
    "edge",
    "server",
    "sdk",
    "mcp",
    "cli",
    "free",
  ],
};

const instead: Partial<Record<Room, string>> = {
  contract: "the contract is data only: move the value here, or the behaviour to the package that needs it",
  cel: "the expression engine does not know other rooms: let core pass it in as a declaration or a function",
  core: "core is pure: take what you need as a parameter",
  store: "move what is shared to core or ports.ts; an operation calls the store, never the other way",
  operations: "return a value or throw a Fault; routes and the worker call operations, never the other way",
  http: "move the use case to operations; clocks, ids and sockets come through ports.ts",
  worker: "move the use case to operations; clocks, ids and sockets come through ports.ts",
  sdk: "the client is built on the contract alone",
  console: "use the sdk",
  mcp: "use the sdk",
};

export function roomOf(path: string): Room {
  if (isTestCode(path)) return "free";
  const [top, name = "", ...rest] = path.split("/");
  if (top !== "packages" || rest[0] !== "src") return name === "cli" ? "cli" : "free";
  if (name !== "server") return name in mayImport ? (name as Room) : "free";
  const folder = serverFolders.find((known) => known === rest[1]);
  if (folder !== undefined) return folder;
  return rest[1] === "index.ts" ? "server" : "ports";
}

/** Returns true for code that only tests, simulations, benchmarks and scripts run. */
export function isTestCode(path: string): boolean {
  return /(?:^|\/)(?:test|testing|conformance)\/|\.test\.tsx?$|^(?:sim|bench|scripts)\/|vitest\.[\w.]*ts$/.test(path);
}

/** Returns the entries in the manifest of a package: "." and those with a name of their own. */
function entriesOf(name: string): string[] {
  const manifest = new URL(`../../packages/${name}/package.json`, import.meta.url);
  if (!existsSync(manifest)) return [];
  const { exports = {} }: { exports?: object } = JSON.parse(readFileSync(manifest, "utf8"));
  return Object.keys(exports);
}

/** Returns why an import is forbidden and what to write instead, or null. */
export function wallFinding(path: string, specifier: string): string | null {
  const from = roomOf(path);
  if (specifier.startsWith(".")) return relativeFinding(path, from, specifier);
  const [, name, deeper] = /^@countersign\/([\w-]+)(\/.*)?$/.exec(specifier) ?? [];
  if (name === undefined) return null;
  if (deeper !== undefined && !entriesOf(name).includes(`.${deeper}`))
    return `reaches inside a package: import from @countersign/${name} and export it there`;
  if (!path.startsWith("packages/") || from === "free") return null;
  return arrowFinding(from, name as Room);
}

function relativeFinding(path: string, from: Room, specifier: string): string | null {
  if (!/\.(?:ts|tsx|json|css|mjs|js)$/.test(specifier)) return `a relative import ends in .ts: write ${specifier}.ts`;
  const target = join(dirname(path), specifier);
  const packageOf = (file: string) => /^packages\/([\w-]+)\//.exec(file)?.[1];
  const name = packageOf(target);
  // Code outside the packages may import their inner files.
  const inside = path.startsWith("packages/") && /^packages\/[\w-]+\/src\//.test(target);
  if (inside && name !== undefined && name !== packageOf(path)) {
    return `crosses into another package: write @countersign/${name} and export it there`;
  }
  if (from === "free") return null;
  if (isTestCode(target)) return "only tests import test code: move what both need into the code itself";
  return arrowFinding(from, roomOf(target));
}

function arrowFinding(from: Room, to: Room): string | null {
  if (from === to || mayImport[from].includes(to)) return null;
  return `${from} does not import ${to}: ${instead[from] ?? "reverse the dependency"}`;
}
