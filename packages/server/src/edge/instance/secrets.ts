/** Inspects and reseals the values that are sealed with the master keys, for the command line. */
import { randomBytes } from "node:crypto";
import type { Resealed, SealedCount } from "../../operations/upkeep/reseal.ts";
import type { KeyRing } from "../../ports.ts";
import { createSealer } from "../start/sealer.ts";
import type { OpenedDatabase } from "./open-database.ts";

/** Which master keys the sealed values need. */
export interface SecretsStatus {
  /** The name of the key that seals. */
  readonly key_id: string;
  readonly other_key_ids: readonly string[];
  /** The other keys that some value still needs. */
  readonly needed_key_ids: readonly string[];
  readonly total: number;
  /** How many values no key of the ring opens. */
  readonly unreadable: number;
  readonly places: readonly SealedCount[];
}

/** The operations of the command line on sealed values. */
export interface InstanceSecrets {
  /** Counts sealed values by the key that opens them. Null: there is no key, so every value counts as unreadable. */
  status(ring: KeyRing | null): Promise<SecretsStatus>;
  /** Seals all values with the current key, `batch` values in each transaction. Returns the counts of each place. */
  reseal(ring: KeyRing, progress: (done: Resealed) => void, batch: number): Promise<Resealed[]>;
}

/** Returns the operations on sealed values of an open database. */
export function instanceSecrets({ db }: Pick<OpenedDatabase, "db">): InstanceSecrets {
  return {
    async status(given) {
      const { sealedStatus } = await import("../../operations/upkeep/reseal.ts");
      const ring = given ?? createSealer(randomBytes(32));
      const places = await sealedStatus({ db, ring });
      const { key_id, other_key_ids } = ring;
      return {
        key_id,
        other_key_ids,
        needed_key_ids: other_key_ids.filter((id) => places.some(({ by_key }) => (by_key[id] ?? 0) > 0)),
        total: places.reduce((sum, each) => sum + each.total, 0),
        unreadable: places.reduce((sum, each) => sum + each.unreadable, 0),
        places,
      };
    },
    async reseal(ring, progress, batch) {
      const { resealAll } = await import("../../operations/upkeep/reseal.ts");
      return resealAll({ db, ring }, progress, batch);
    },
  };
}
