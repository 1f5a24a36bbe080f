import { createPasswords } from "../../edge/sign-in/passwords.ts";
import type { Passwords } from "../../ports.ts";

/** Returns password hashing at the lowest cost of Argon2id, for tests that are not about hashing. */
export const cheapPasswords = (): Passwords => createPasswords({ memoryCost: 8, timeCost: 1 });
