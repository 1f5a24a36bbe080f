/** Keeps the pinned definitions of one server's tools in a folder, one file for each tool. */
import { createHash, randomUUID } from "node:crypto";
import { linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isObject } from "../protocol/messages.ts";
import type { Definition } from "./definition.ts";

/** Every method throws if the folder or the file cannot be used: then nobody knows what was pinned. */
export interface PinStore {
  /** Returns the pinned definition; null: the tool was never pinned. */
  read(tool: string): Definition | null;
  /** Pins the definition unless the tool is pinned. Returns the pinned one, perhaps of another process. */
  pinFirst(tool: string, definition: Definition): Definition;
  replace(tool: string, definition: Definition): void;
}

/** An untrusted server must not fill the disk. */
export const tools_max = 2_000;

/**
 * Opens the folder of a server, and creates it if needed. `server` is how the operator names it, such as its command
 * line. The server's own name does not count, because a server could change it to lose its pins. Throws if the folder
 * cannot be created.
 */
export function openPinStore(folder: string, server: readonly string[]): PinStore {
  // Hashed, because a command line may contain a secret.
  const own_folder = join(folder, nameOf(JSON.stringify(server)));
  mkdirSync(own_folder, { recursive: true, mode: 0o700 });
  let pins = readdirSync(own_folder).length;
  const pathOf = (tool: string): string => join(own_folder, `${nameOf(tool)}.json`);
  const read = (tool: string): Definition | null => readPin(pathOf(tool), tool);
  /** Writes a whole file first, because other processes read at any time. */
  const write = (tool: string, definition: Definition, put: (written: string, path: string) => void): void => {
    const written = join(own_folder, `${randomUUID()}.tmp`);
    try {
      writeFileSync(written, `${JSON.stringify({ tool, definition }, null, 2)}\n`, { mode: 0o600 });
      put(written, pathOf(tool));
    } finally {
      rmSync(written, { force: true });
    }
  };
  return {
    read,
    pinFirst(tool, definition) {
      const pinned = read(tool);
      if (pinned !== null) return pinned;
      if (pins >= tools_max) throw new Error(`${own_folder} has the pins of ${tools_max} tools, and takes no more.`);
      try {
        // Unlike a rename, a link never replaces the pin of another process.
        write(tool, definition, linkSync);
        pins += 1;
        return definition;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
        return read(tool) ?? definition;
      }
    },
    replace: (tool, definition) => write(tool, definition, renameSync),
  };
}

function nameOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

function readPin(path: string, tool: string): Definition | null {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  const definition = definitionIn(text, tool);
  if (definition !== null) return definition;
  throw new Error(
    `${path} is no valid pin of the tool ${JSON.stringify(tool)}. Restore the file, or delete it to trust the tool's next definition.`,
  );
}

function definitionIn(text: string, tool: string): Definition | null {
  try {
    const pin: unknown = JSON.parse(text);
    return isObject(pin) && pin["tool"] === tool && isObject(pin["definition"]) ? pin["definition"] : null;
  } catch {
    return null;
  }
}
