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
 * The rules of packs, which the policy sets of all organizations share. Each is compiled at its first use and kept, because
 * four packs take 1 MB of memory if each organization compiles them.
 */
export class SharedPolicies {
  readonly variables = new SharedVariables();
  private readonly known = new Map<PolicyDocument, HashedPolicy>();

  /** Returns the compiled policy of a document, by identity. Throws CelSyntaxError for text that is not CEL. */
  get(source: PolicySource): HashedPolicy {
    const known = this.known.get(source.document);
    if (known !== undefined) return known;
    const policy = compilePolicy(source, this.variables);
    const shared = { policy, sha256: policySha256(source.document) };
    this.known.set(source.document, shared);
    return shared;
  }
}
