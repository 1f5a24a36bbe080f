import { adequateCountries, dataPrivacyFramework, eeaCountries, transferMechanisms } from "./tables/adequacy.ts";
import { squash } from "./text.ts";

const FREE: ReadonlySet<string> = new Set([...adequateCountries, ...eeaCountries].map((row) => row.country));
/** Common two-letter codes that are not ISO codes. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ["UK", "GB"],
  ["EL", "GR"],
]);
const article49 = /^(?:gdpr)?art(?:icle)?49(?:1?[a-g])?$/;

/**
 * Returns true if personal data may go to a country (GDPR Art. 44 to 49): in the EEA, with an adequacy decision, to the
 * United States under the Data Privacy Framework, or under a mechanism of Chapter V. False without a two-letter code.
 */
export const transferOk = (country: unknown, mechanism: unknown): boolean => {
  const given = typeof country === "string" ? country.trim().toUpperCase() : "";
  if (!/^[A-Z]{2}$/.test(given)) return false;
  const code = ALIASES.get(given) ?? given;
  if (FREE.has(code)) return true;
  if (typeof mechanism !== "string") return false;
  const word = squash(mechanism);
  if (dataPrivacyFramework.has(word)) return code === "US";
  return transferMechanisms.has(word) || article49.test(word);
};
