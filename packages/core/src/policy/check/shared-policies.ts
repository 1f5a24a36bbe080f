import { type CompiledPolicy, compilePolicy, type PolicySource } from "../compile.ts";
import type { PolicyDocument } from "../document.ts";
import { policySha256 } from "../policy-sha256.ts";
import { SharedVariables } from "../shared-variables.ts";

/** A policy ready to be evaluated, and the SHA-256 of its document. */
export interface HashedPolicy {
  readonly policy: CompiledPolicy;
  readonly sha256: string;
}

/**
 * Policies that the sets of all organizations have in common, the rules of packs: compiled when they are first asked for, and
 * kept for good. Compiled anew for each organization with policies of its own, those of four packs held a MB of memory for it.
 */
export class SharedPolicies {
  readonly variables = new SharedVariables();
  private readonly known = new Map<PolicyDocument, HashedPolicy>();

  /** `source` always has the same identity for one document. Throws CelSyntaxError for what is no CEL. */
  get(source: PolicySource): HashedPolicy {
    const known = this.known.get(source.document);
    if (known !== undefined) return known;
    const policy = compilePolicy(source, this.variables);
    const shared = { policy, sha256: policySha256(source.document) };
    this.known.set(source.document, shared);
    return shared;
  }
}
