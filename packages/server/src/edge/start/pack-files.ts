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

/** Cached sets of packs alone. */
const sets_max = 500;
/** Cached sets with one organization's own policies: at most one for each membrane. */
const own_sets_max = 100;

export interface PackLibrary {
  readonly packs: ReadonlyMap<string, ParsedPack>;
  /**
   * Returns the compiled set of a membrane's packs and the organization's own policies. Cached as long as the list of
   * policies. Unknown packs add nothing.
   */
  policySetOf(
    membrane: Pick<Membrane, "packs"> & Partial<Pick<Membrane, "rules_off">>,
    own?: readonly PolicySource[],
  ): Promise<PolicySet>;
  /** Faults: invalid_request naming each unknown pack. */
  refuseUnknownPacks(packs: readonly string[]): void;
  /** Faults: invalid_request naming each unknown rule. */
  refuseUnknownRules(rules: readonly string[]): void;
}

/**
 * Reads every pack of a folder. Throws `StartRefused` with one line a finding if a pack is malformed or one of its
 * cases fails.
 */
export async function loadPacks(dir: string = packs_dir): Promise<PackLibrary> {
  // From the sources there is no build, or another one.
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
  // A set is freed with its policies. When sets were kept by policy names, each change of one of 300 policies left 32
  // MB in memory.
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
