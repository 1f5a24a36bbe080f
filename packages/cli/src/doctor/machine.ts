import { constants } from "node:fs";
import { access, lstat, stat, statfs } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname } from "node:path";
import type { Config } from "@countersign/server";
import { type Finding, note, ok, problem, reasonOf } from "./finding.ts";

const mib = 1024 * 1024;
const disk_mib_min = 512;
const disk_mib_good = 5 * 1024;

/** Checks that the program was tested with this Node version. */
export function checkNode(): Finding {
  const [major = 0] = process.versions.node.split(".").map(Number);
  if (major % 2 === 1) {
    return note(
      "node",
      `Node ${process.versions.node} is not a long-term release`,
      "run production on an even major version",
    );
  }
  return ok("node", `Node ${process.versions.node} on ${process.platform}-${process.arch}`);
}

/** Checks that the data directory exists or can be created, and is closed to others. */
export async function checkDataDir({ data_dir }: Pick<Config, "data_dir">): Promise<Finding> {
  const found = await stat(data_dir).catch((error: NodeJS.ErrnoException) => error);
  if (found instanceof Error) {
    if (found.code !== "ENOENT") {
      const owner = found.code === "EACCES" ? "run as its owner, or " : "";
      return problem("data directory", reasonOf(found), `${owner}choose another COUNTERSIGN_DATA_DIR`);
    }
    // A dangling link exists, too, and prevents creation.
    const parent = await nearestExisting(data_dir, lstat);
    if (!(await isDirectory(parent)))
      return problem("data directory", `${parent} is not a directory`, "choose another COUNTERSIGN_DATA_DIR");
    if (await mayWrite(parent)) return ok("data directory", `${data_dir} is created by the first start`);
    return problem(
      "data directory",
      `${data_dir} cannot be created: this user may not write to ${parent}`,
      `create it as its owner, or choose another COUNTERSIGN_DATA_DIR`,
    );
  }
  if (!found.isDirectory())
    return problem("data directory", `${data_dir} is not a directory`, "choose another COUNTERSIGN_DATA_DIR");
  if (!(await mayWrite(data_dir))) {
    return problem("data directory", `this user may not write to ${data_dir}`, "run as its owner, or chown it");
  }
  const others = found.mode & 0o077;
  if (others !== 0) {
    const mode = (found.mode & 0o777).toString(8);
    return problem(
      "data directory",
      `${data_dir} has mode ${mode}: others on this machine can read it`,
      `chmod 700 ${data_dir}`,
    );
  }
  return ok("data directory", `${data_dir}, closed to others`);
}

/** Checks for free space for the database (or, with DATABASE_URL, for mails and logs). */
export async function checkDisk({ data_dir }: Config): Promise<Finding> {
  const place = await nearestExisting(data_dir);
  const { bavail, bsize } = await statfs(place);
  const free_mib = (bavail * bsize) / mib;
  const text = `${free_mib > 10 * 1024 ? `${Math.floor(free_mib / 1024)} GiB` : `${Math.floor(free_mib)} MiB`} free in ${place}`;
  const advice = "make room: a million decisions take about 2 GiB";
  if (free_mib < disk_mib_min) return problem("disk", text, advice);
  return free_mib < disk_mib_good ? note("disk", text, advice) : ok("disk", text);
}

/** Checks that the address is free, or that this service listens on it. */
export async function checkPort({ host, port }: Config): Promise<Finding> {
  const place = `${host}:${port}`;
  if (port === 0) return ok("port", "PORT=0: a free one is chosen at every start");
  const error = await listenOnce(host, port);
  if (error === null) return ok("port", `${place} is free`);
  if (error.code !== "EADDRINUSE") return problem("port", reasonOf(error), "choose another HOST or PORT");
  if (await answersAsCountersign(host, port)) return ok("port", `Countersign is running on ${place}`);
  return problem("port", `another program listens on ${place}`, "stop it, or choose another PORT (0 picks a free one)");
}

function listenOnce(host: string, port: number): Promise<NodeJS.ErrnoException | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", resolve);
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
}

async function answersAsCountersign(host: string, port: number): Promise<boolean> {
  const reachable = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  const url = `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}/openapi.json`;
  try {
    const document = (await (await fetch(url, { signal: AbortSignal.timeout(2_000) })).json()) as {
      info?: { title?: string };
    };
    return document.info?.title?.includes("Countersign") === true;
  } catch {
    return false; // Another program listens.
  }
}

async function nearestExisting(path: string, look: typeof stat | typeof lstat = stat): Promise<string> {
  for (let at = path; ; at = dirname(at)) {
    if ((await look(at).catch(() => null)) !== null || at === dirname(at)) return at;
  }
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

async function mayWrite(path: string): Promise<boolean> {
  return access(path, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
}
