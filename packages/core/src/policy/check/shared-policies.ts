import { type CompiledPolicy, compilePolicy, type PolicySource } from "../compile.ts";
import type { PolicyDocument } from "../document.ts";
import { policySha256 } from "../policy-sha256.ts";
import { SharedVariables } from "../shared-variables.ts";

export interface HashedPolicy {
  readonly policy: CompiledPolicy;
  readonly sha256: string;
}

/** Pack rules are compiled once for all organizations, because four packs take 1 MB. */
export class SharedPolicies {
  readonly variables = new SharedVariables();
  private readonly known = new Map<PolicyDocument, HashedPolicy>();

  /** Caches by identity. Throws CelSyntaxError for text that is not CEL. */
  get(source: PolicySource): HashedPolicy {
    const known = this.known.get(source.document);
    if (known !== undefined) return known;
    const policy = compilePolicy(source, this.variables);
    const shared = { policy, sha256: policySha256(source.document) };
    this.known.set(source.document, shared);
    return shared;
  }
}
