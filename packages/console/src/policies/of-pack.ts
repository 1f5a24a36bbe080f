interface NamedRule {
  readonly policy_id: string | null;
  readonly policy: string;
}

/** A pack's rule has an id made from its name; an organization's policy may have the same name. */
export const isOfPack = ({ policy_id, policy }: NamedRule) => policy_id === `pol_${policy}`;
