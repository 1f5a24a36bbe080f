/** Checks whether this program, with its keys, can use the stored data. */
import type { Config, Instance } from "@countersign/server";
import type { Output } from "../terminal.ts";
import { checkFigures } from "./figures.ts";
import type { Finding } from "./finding.ts";
import { checkKeys } from "./keys.ts";
import { checkOrganizations } from "./organizations.ts";
import { checkPolicies } from "./policies.ts";
import { checkSecrets } from "./secrets.ts";

/** Expects a migrated database. Shows its progress on `stderr`. */
export async function checkContents(config: Config, instance: Instance, stderr: Output): Promise<Finding[]> {
  return [
    ...(await checkOrganizations(instance)),
    ...(await checkFigures(instance)),
    ...(await checkSecrets(config, instance)),
    ...(await checkKeys(instance)),
    ...(await checkPolicies(instance, stderr)),
  ];
}
