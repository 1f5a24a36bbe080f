import { domain_record_label, domain_record_prefix } from "@countersign/contract";
import type { TxtRecords } from "../../ports.ts";

/** Sets the organizations that a domain names. Null: silent name servers. */
export function testDomains(): {
  readonly txtRecords: TxtRecords;
  readonly prove: (domain: string, ...org_ids: string[]) => void;
  readonly silence: (domain: string) => void;
} {
  const records = new Map<string, string[] | null>();
  const at = (domain: string) => `${domain_record_label}.${domain}`;
  return {
    txtRecords: { read: async (name) => records.get(name) ?? (records.has(name) ? null : []) },
    prove: (domain, ...org_ids) => {
      const texts = org_ids.map((org_id) => `${domain_record_prefix}${org_id}`);
      records.set(at(domain), ["another text", ...texts]);
    },
    silence: (domain) => void records.set(at(domain), null),
  };
}
