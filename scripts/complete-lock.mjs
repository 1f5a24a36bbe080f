/**
 * Completes package-lock.json: `node scripts/complete-lock.mjs`, after `npm install`.
 *
 * npm omits optional packages of other platforms that the registry lacks, and then `npm ci` fails everywhere. Adds
 * those entries.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const systems = ["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32"];

/** Returns `{name, version, parent}` of every optional dependency without an entry in the lock file. */
export function missingEntries(lock) {
  return Object.entries(lock.packages).flatMap(([parent, { optionalDependencies = {} }]) =>
    Object.entries(optionalDependencies)
      .filter(([name]) => !lock.packages[`node_modules/${name}`] && !lock.packages[`${parent}/node_modules/${name}`])
      .map(([name, version]) => ({ name, version, parent })),
  );
}

function entry({ name, version, parent }, lock) {
  const words = name.split(/[/-]/);
  const at = words.findIndex((word) => systems.includes(word));
  const [os, cpu, abi = ""] = at === -1 ? [] : words.slice(at);
  const platform = at === -1 ? { cpu: ["wasm32"] } : { cpu: [cpu], os: [os] };
  if (at === -1 && !words.includes("wasm32")) throw new Error(`${name}: unknown platform`);
  if (!/^\d+\.\d+\.\d+/.test(version)) throw new Error(`${name}: cannot read the version ${version}`);
  const libc = os === "linux" && /^(musl|gnu)/.exec(abi);
  return {
    version,
    ...(lock.packages[parent].dev ? { dev: true } : {}),
    optional: true,
    ...platform,
    ...(libc ? { libc: [libc[1] === "musl" ? "musl" : "glibc"] } : {}),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const file = fileURLToPath(new URL("../package-lock.json", import.meta.url));
  const lock = JSON.parse(readFileSync(file, "utf8"));
  const missing = missingEntries(lock);
  for (const gap of missing) lock.packages[`node_modules/${gap.name}`] = entry(gap, lock);
  lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, "en")));
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
  console.log(`${missing.length} entries added to package-lock.json`);
}
