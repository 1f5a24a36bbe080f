import { randomBytes } from "node:crypto";
import type { Resealed, SealedCount } from "../../operations/upkeep/reseal.ts";
import type { KeyRing } from "../../ports.ts";
import { createSealer } from "../start/sealer.ts";
import type { OpenedDatabase } from "./open-database.ts";

/** The master keys that sealed values need. */
export interface SecretsStatus {
  readonly key_id: string;
  readonly other_key_ids: readonly string[];
  readonly needed_key_ids: readonly string[];
  readonly total: number;
  /** Values that no key of the ring opens. */
  readonly unreadable: number;
  readonly places: readonly SealedCount[];
}

export interface InstanceSecrets {
  /** Counts sealed values by key. Null: no key, so all values are unreadable. */
  status(ring: KeyRing | null): Promise<SecretsStatus>;
  /** Commits after every `batch` values. */
  reseal(ring: KeyRing, progress: (done: Resealed) => void, batch: number): Promise<Resealed[]>;
}

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
