import { adequateCountries, dataPrivacyFramework, eeaCountries, transferMechanisms } from "./tables/adequacy.ts";
import { squash } from "./text.ts";

const FREE: ReadonlySet<string> = new Set([...adequateCountries, ...eeaCountries].map((row) => row.country));
/** Two-letter codes that are in use beside the ISO ones. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ["UK", "GB"],
  ["EL", "GR"],
]);
const article49 = /^(?:gdpr)?art(?:icle)?49(?:1?[a-g])?$/;

/**
 * Whether personal data may go to a country: inside the EEA, to a country with an adequacy decision, to the United
 * States under the Data Privacy Framework, or to any other country under a named Chapter V mechanism. A country that is no
 * two-letter code never passes, whatever the mechanism. Source: GDPR Art. 44 to 49.
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
