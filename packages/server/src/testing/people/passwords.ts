import { createPasswords } from "../../edge/sign-in/passwords.ts";
import type { Passwords } from "../../ports.ts";

/** Lowest cost of Argon2id, for tests that are not about hashing. */
export const cheapPasswords = (): Passwords => createPasswords({ memoryCost: 8, timeCost: 1 });
