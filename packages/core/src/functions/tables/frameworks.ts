/**
 * Frameworks in rules, with customers' spellings, squashed. A version or level may follow ("ISO 27001:2022", "CMMC
 * Level 2").
 */
export const frameworkSpellings: ReadonlyMap<string, readonly string[]> = new Map([
  ["gdpr", ["gdpr", "eugdpr", "generaldataprotectionregulation"]],
  ["hipaa", ["hipaa", "healthinsuranceportabilityandaccountability"]],
  ["pcidss", ["pcidss", "pci", "paymentcardindustrydatasecuritystandard"]],
  ["ccpa", ["ccpa", "cpra", "ccpacpra", "californiaconsumerprivacy", "californiaprivacyrights"]],
  ["ferpa", ["ferpa", "familyeducationalrightsandprivacy"]],
  ["sox", ["sox", "sarbanesoxley"]],
  ["euaiact", ["euaiact", "aiact", "euartificialintelligence", "artificialintelligenceact"]],
  ["nistairmf", ["nistairmf", "airmf", "nistairiskmanagementframework", "airiskmanagementframework"]],
  ["tcpa", ["tcpa", "telephoneconsumerprotection"]],
  ["nistcsf", ["nistcsf", "csf", "nistcybersecurityframework"]],
  ["iso27001", ["iso27001", "isoiec27001"]],
  ["fedramp", ["fedramp", "federalriskandauthorizationmanagementprogram"]],
  ["cmmc", ["cmmc", "cybersecuritymaturitymodelcertification"]],
  ["nist800171", ["nist800171", "nistsp800171", "sp800171"]],
]);

/** Squashed keys or values that mean "does not apply". */
export const notApplicableWords: ReadonlySet<string> = new Set([
  "no",
  "false",
  "none",
  "na",
  "notapplicable",
  "doesnotapply",
  "inapplicable",
  "nonapplicable",
  "notinscope",
  "outofscope",
  "outsidescope",
  "excluded",
  "exempt",
  "notrequired",
  "off",
  "disabled",
]);
