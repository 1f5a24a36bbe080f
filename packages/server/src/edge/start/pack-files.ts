/** The packs that come with the service, checked by the build, else at the start. Source: policies.md §4. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Membrane } from "@countersign/contract";
import {
  Fault,
  knownPacks,
  loadPack,
  type PackFiles,
  type ParsedPack,
  type PolicySet,
  type PolicySource,
  packSources,
  policySetSteps,
  SharedPolicies,
  suggestName,
} from "@countersign/core";
import { LRUCache } from "lru-cache";
import { inTurns } from "../../operations/shared/turns.ts";
import { packs_dir } from "../../paths.ts";
import { StartRefused } from "../../store/database/start-refused.ts";
import { readPacksRecord } from "./packs-record.ts";

/** Sets of packs alone that are kept in memory; one that is missing is put together again, of rules that are compiled once. */
const sets_max = 500;
/** Of one organization's own policies: as many as it may have membranes, each with packs of its own. */
const own_sets_max = 100;

/** The packs of one process, by name. */
export interface PackLibrary {
  readonly packs: ReadonlyMap<string, ParsedPack>;
  /**
   * The compiled set of a membrane's packs and the organization's own policies in force; made once for each
   * combination of packs and list of policies, and kept as long as that list is. The rules of packs are compiled once for
   * all sets. Packs that no longer exist add nothing.
   */
  policySetOf(
    membrane: Pick<Membrane, "packs"> & Partial<Pick<Membrane, "rules_off">>,
    own?: readonly PolicySource[],
  ): Promise<PolicySet>;
  /** Faults: invalid_request naming each pack that does not exist. */
  refuseUnknownPacks(packs: readonly string[]): void;
  /** Faults: invalid_request naming each rule that no pack has. */
  refuseUnknownRules(rules: readonly string[]): void;
}

/**
 * Reads every pack of a folder. Throws `StartRefused` with one line a finding when a pack is not well formed or one of
 * its cases is red: a service that would decide otherwise than its packs say must not start.
 */
export async function loadPacks(dir: string = packs_dir): Promise<PackLibrary> {
  // From the sources (tests, benchmarks) nothing is built, or something else is.
  const built = !import.meta.url.endsWith(".ts");
  const recorded = built && dir === packs_dir ? readPacksRecord<ParsedPack>() : null;
  const packs = recorded ?? (await checkPacks(dir));
  return createLibrary(new Map(packs.map((pack) => [pack.name, pack])));
}

async function checkPacks(dir: string): Promise<ParsedPack[]> {
  const folders = (await readdir(dir, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  const packs: ParsedPack[] = [];
  const findings: string[] = [];
  for (const folder of folders.sort()) {
    const { pack, diagnostics } = loadPack(await readPackFiles(dir, folder));
    if (pack !== null) packs.push(pack);
    for (const { file, line, message, help } of diagnostics) {
      findings.push(`packs/${folder}/${file}${line === null ? "" : `:${line}`}: ${message} ${help}`);
    }
  }
  if (findings.length > 0) throw new StartRefused(findings.join("\n"));
  return packs;
}

async function readPackFiles(dir: string, folder: string): Promise<PackFiles> {
  const at = join(dir, folder);
  const names = (await readdir(join(at, "policies"))).filter((name) => name.endsWith(".yaml")).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(at, "policies", name), "utf8")));
  return {
    folder,
    manifest: await readFile(join(at, "pack.yaml"), "utf8"),
    policies: new Map(names.map((name, index) => [name, texts[index] as string])),
    cases: await readFile(join(at, "cases.jsonl"), "utf8"),
  };
}

function createLibrary(packs: ReadonlyMap<string, ParsedPack>): PackLibrary {
  const shared = new SharedPolicies();
  const rules = new Set([...packs.values()].flatMap((pack) => pack.rules.map(({ metadata }) => metadata.name)));
  const ofPacks = new LRUCache<string, Promise<PolicySet>>({ max: sets_max });
  // A set goes with the policies it was made of: kept by their names, every change of one of 300 left another 32 MB behind.
  const ofOwn = new WeakMap<readonly PolicySource[], LRUCache<string, Promise<PolicySet>>>();

  function setsWith(own: readonly PolicySource[]): LRUCache<string, Promise<PolicySet>> {
    if (own.length === 0) return ofPacks;
    const known = ofOwn.get(own);
    if (known !== undefined) return known;
    const made = new LRUCache<string, Promise<PolicySet>>({ max: own_sets_max });
    ofOwn.set(own, made);
    return made;
  }

  return {
    packs,
    policySetOf(membrane, own = []) {
      const names = knownPacks(packs, membrane.packs);
      const sets = setsWith(own);
      const { rules_off = [] } = membrane;
      const key = [...names, ...rules_off.toSorted().map((rule) => `-${rule}`)].join(" ");
      let set = sets.get(key);
      if (set === undefined) {
        set = inTurns(
          policySetSteps({ policies: [...packSources(packs, names, rules_off), ...own], version: 1, shared }),
        );
        sets.set(key, set);
        set.catch(() => sets.delete(key));
      }
      return set;
    },
    refuseUnknownPacks(names) {
      const details = names.flatMap((name, index) =>
        packs.has(name)
          ? []
          : [
              {
                path: `/packs/${index}`,
                code: "not_allowed",
                message: `There is no pack ${name}. There are ${[...packs.keys()].join(", ")}.`,
              },
            ],
      );
      if (details.length > 0) throw new Fault("invalid_request", { details });
    },
    refuseUnknownRules(names) {
      const details = names.flatMap((name, index) => {
        if (rules.has(name)) return [];
        const help = suggestName(name, [...rules]) ?? "GET /v1/packs/{name} lists the rules of a pack.";
        return [{ path: `/rules_off/${index}`, code: "not_allowed", message: `No pack has a rule ${name}. ${help}` }];
      });
      if (details.length > 0) throw new Fault("invalid_request", { details });
    },
  };
}
