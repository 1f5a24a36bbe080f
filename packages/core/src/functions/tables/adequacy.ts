export interface TransferCountry {
  readonly country: string;
  readonly source: string;
  readonly verified_on: string;
}

const row = (country: string, source: string): TransferCountry => ({ country, source, verified_on: "2026-11-18" });

/**
 * Countries with a full adequacy decision (GDPR Art. 45), by ISO 3166-1 alpha-2 code. Not the United States: its
 * decision covers only certified recipients.
 */
export const adequateCountries: readonly TransferCountry[] = [
  row("AD", "Decision 2010/625/EU"),
  row("AR", "Decision 2003/490/EC"),
  row("BR", "Decision (EU) 2026/179"),
  row("CA", "Decision 2002/2/EC (commercial organisations under PIPEDA)"),
  row("CH", "Decision 2000/518/EC"),
  row("FO", "Decision 2010/146/EU"),
  row("GB", "Decision (EU) 2021/1772, extended"),
  row("GG", "Decision 2003/821/EC"),
  row("IL", "Decision 2011/61/EU"),
  row("IM", "Decision 2004/411/EC"),
  row("JE", "Decision 2008/393/EC"),
  row("JP", "Decision (EU) 2019/419"),
  row("KR", "Decision (EU) 2022/254"),
  row("NZ", "Decision 2013/65/EU"),
  row("UY", "Decision 2012/484/EU"),
];

const EU_MEMBERS = "AT BE BG HR CY CZ DK EE FI FR DE GR HU IE IT LV LT LU MT NL PL PT RO SK SI ES SE".split(" ");
const EFTA_MEMBERS = "IS LI NO".split(" ");

/** Transfers within the EEA are not third-country transfers. */
export const eeaCountries: readonly TransferCountry[] = [
  ...EU_MEMBERS.map((country) => row(country, "Treaty on European Union Art. 52; GDPR Art. 3")),
  ...EFTA_MEMBERS.map((country) => row(country, "EEA Joint Committee Decision 154/2018")),
];

/**
 * Mechanisms of GDPR Chapter V, letters and digits only. Includes derogations of Art. 49; counsel must check whether
 * one applies.
 */
export const transferMechanisms: ReadonlyMap<string, string> = new Map([
  ...[
    "scc",
    "sccs",
    "standardcontractualclauses",
    "standardcontractualclause",
    "modelclauses",
    "standarddataprotectionclauses",
  ].map((name) => [name, "GDPR Art. 46(2)(c)"] as const),
  ...["bcr", "bcrs", "bindingcorporaterules"].map((name) => [name, "GDPR Art. 46(2)(b), 47"] as const),
  ...["codeofconduct", "approvedcodeofconduct"].map((name) => [name, "GDPR Art. 46(2)(e)"] as const),
  ...["certification", "approvedcertification"].map((name) => [name, "GDPR Art. 46(2)(f)"] as const),
  ...["adhocclauses", "adhoccontractualclauses", "contractualclausesauthorised"].map(
    (name) => [name, "GDPR Art. 46(3)(a)"] as const,
  ),
  ...["administrativearrangement", "publicauthorityinstrument", "legallybindinginstrument"].map(
    (name) => [name, "GDPR Art. 46(2)(a), (3)(b)"] as const,
  ),
  ...[
    "derogation",
    "art49",
    "art49derogation",
    "article49",
    "article49derogation",
    "explicitconsent",
    "contractnecessity",
    "contractperformance",
    "publicinterest",
    "legalclaims",
    "vitalinterests",
    "publicregister",
  ].map((name) => [name, "GDPR Art. 49(1)"] as const),
]);

/** Letters and digits only. Valid for the United States only. */
export const dataPrivacyFramework: ReadonlySet<string> = new Set([
  "dpf",
  "euusdpf",
  "usdpf",
  "dataprivacyframework",
  "euusdataprivacyframework",
  "dpfcertified",
]);
