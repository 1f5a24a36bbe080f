import { Resolver } from "node:dns/promises";
import type { TxtRecords } from "../../ports.ts";

const try_ms = 2_000;
const tries = 2;

/** `name_servers`: `address:port` each. Default: the machine's. */
export function createTxtRecords(name_servers?: readonly string[]): TxtRecords {
  const resolver = new Resolver({ timeout: try_ms, tries });
  if (name_servers !== undefined) resolver.setServers(name_servers);
  return {
    async read(name) {
      try {
        // A record is a list of strings of at most 255 bytes.
        return (await resolver.resolveTxt(name)).map((strings) => strings.join(""));
      } catch (error) {
        const code = error instanceof Error && "code" in error ? error.code : undefined;
        return code === "ENOTFOUND" || code === "ENODATA" ? [] : null;
      }
    },
  };
}
