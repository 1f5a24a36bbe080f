/**
 * Argon2id on libuv's few threads, which files and name lookups need, too. So two hashes run at a time, and a bounded
 * number wait. Parameters: OWASP Password Storage Cheat Sheet, 2024.
 */

import { Fault } from "@countersign/core";
import { hash, verify } from "@node-rs/argon2";
import pLimit from "p-limit";
import type { Passwords } from "../../ports.ts";

const at_once_max = 2;
const waiting_max = 100;
/** Memory in KiB, and passes. */
interface HashCost {
  readonly memoryCost: number;
  readonly timeCost: number;
}
type Argon2 = Pick<typeof import("@node-rs/argon2"), "hash" | "verify">;
const serviceCost: HashCost = { memoryCost: 19_456, timeCost: 2 };

/** Only tests pass arguments. */
export function createPasswords(cost = serviceCost, argon2: Argon2 = { hash, verify }): Passwords {
  /** 2: Argon2id. */
  const options = { algorithm: 2, ...cost, parallelism: 1 };
  const limit = pLimit(at_once_max);
  /** Compared with passwords of unknown addresses, so that the answer takes as long. */
  let dummy_hash: Promise<string> | undefined;

  function queued<T>(work: () => Promise<T>): Promise<T> {
    if (limit.pendingCount >= waiting_max) throw new Fault("overloaded", { headers: { "retry-after": "5" } });
    return limit(work);
  }

  return {
    async hash(password) {
      return queued(() => argon2.hash(asTyped(password), options));
    },
    async verify(known, password) {
      dummy_hash ??= argon2.hash("nobody's", options).catch((error: unknown) => {
        dummy_hash = undefined;
        throw error;
      });
      const compared = known ?? (await dummy_hash);
      const right = await queued(() => argon2.verify(compared, asTyped(password)));
      return right && known !== null;
    },
  };
}

/** In NFC, because "ü" is one or two code points (RFC 8265, section 4.2). */
function asTyped(password: string): string {
  return password.normalize("NFC");
}
