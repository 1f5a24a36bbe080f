import type { TokenIssuer, TokenIssuerInput } from "@countersign/contract";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useSession } from "../api/session.tsx";
import { Confirm, Dialog, FormActions } from "../parts/forms/dialog.tsx";
import { SelectField, TextArea, TextField } from "../parts/forms/field.tsx";
import { Failed, Loaded } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";
import { ListTable } from "../parts/tables/list-table.tsx";
import { useToasts } from "../parts/toasts.tsx";

const issuersKey = ["token-issuers"];
const nameOf = ({ issuer, trust_domain }: TokenIssuer) => issuer ?? `spiffe://${trust_domain}`;

export function TokenIssuerSettings() {
  const { client } = useSession();
  const [adds, setAdds] = useState(false);
  const [removed, setRemoved] = useState<TokenIssuer | null>(null);
  const query = useQuery({ queryKey: issuersKey, queryFn: () => client.listTokenIssuers() });
  return (
    <section className="card stack" aria-label="Token issuers">
      <div className="row between">
        <h2>Token issuers</h2>
        <button type="button" className="button" onClick={() => setAdds(true)}>
          Add an issuer
        </button>
      </div>
      <p className="muted">Tokens of these issuers, in the header Agent-Token, prove who an agent is.</p>
      <Loaded query={query} what="the token issuers">
        {(issuers) =>
          issuers.length === 0 ? (
            <p className="muted">No issuer is trusted.</p>
          ) : (
            <IssuerTable issuers={issuers} onRemove={setRemoved} />
          )
        }
      </Loaded>
      {adds && <AddDialog onClose={() => setAdds(false)} />}
      {removed !== null && <RemoveDialog issuer={removed} onClose={() => setRemoved(null)} />}
    </section>
  );
}

function IssuerTable({
  issuers,
  onRemove,
}: {
  readonly issuers: readonly TokenIssuer[];
  readonly onRemove: (issuer: TokenIssuer) => void;
}) {
  return (
    <ListTable heads={["Issuer", "Keys", "Audience"]} actions caption="Trusted issuers">
      {issuers.map((each) => (
        <tr key={each.issuer_id}>
          <td>
            <Data text={nameOf(each)} />
          </td>
          <td>{each.jwks_url === null ? "pasted" : <Data text={each.jwks_url} />}</td>
          <td>
            <Data text={each.audience.join(", ")} />
          </td>
          <td>
            <button type="button" className="button small" onClick={() => onRemove(each)}>
              Remove
            </button>
          </td>
        </tr>
      ))}
    </ListTable>
  );
}

function RemoveDialog({ issuer, onClose }: { readonly issuer: TokenIssuer; readonly onClose: () => void }) {
  const { client } = useSession();
  const queries = useQueryClient();
  const toasts = useToasts();
  const remove = useMutation({
    mutationFn: () => client.removeTokenIssuer(issuer.issuer_id),
    onSuccess: () => toasts.done("Issuer removed", "From the next decision on, its tokens are not trusted."),
    onError: toasts.failed,
    onSettled: () => {
      onClose();
      void queries.invalidateQueries({ queryKey: issuersKey });
    },
  });
  return (
    <Confirm
      title="Remove the issuer?"
      action="Remove"
      tone="bad"
      busy={remove.isPending}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    >
      <p>
        From the next decision on, tokens of <Data text={nameOf(issuer)} /> are not trusted.
      </p>
    </Confirm>
  );
}

/** Throws a SyntaxError if the pasted keys are not JSON. */
function inputOf(form: FormData): TokenIssuerInput {
  const text = (name: string) => String(form.get(name) ?? "").trim();
  const keys = text("keys");
  return {
    ...(text("kind") === "issuer" ? { issuer: text("name") } : { trust_domain: text("name") }),
    ...(keys.startsWith("https:") ? { jwks_url: keys } : { jwks: JSON.parse(keys) as Record<string, unknown> }),
    audience: text("audience")
      .split(/\s+/)
      .filter((each) => each !== ""),
    ...(text("agent_claim") === "" ? {} : { claims: { authenticated_agent_id: text("agent_claim") } }),
  };
}

function AddDialog({ onClose }: { readonly onClose: () => void }) {
  const { client } = useSession();
  const queries = useQueryClient();
  const toasts = useToasts();
  const add = useMutation({
    mutationFn: async (form: FormData) => client.addTokenIssuer(inputOf(form)),
    onSuccess: () => {
      toasts.done("Issuer added");
      void queries.invalidateQueries({ queryKey: issuersKey });
      onClose();
    },
  });
  const is_no_json = add.error instanceof SyntaxError;
  return (
    <Dialog title="Add a token issuer" onClose={onClose} broad>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          add.mutate(new FormData(event.currentTarget));
        }}
      >
        <div className="grid-2">
          <SelectField
            label="Recognised by"
            name="kind"
            options={[
              ["issuer", "iss of the token"],
              ["trust_domain", "SPIFFE trust domain"],
            ]}
          />
          <TextField label="Issuer or trust domain" name="name" required />
          <TextField label="Audience" hint="separate several with spaces" name="audience" required />
          <TextField label="Claim with the agent's id" hint="empty: act.sub, else sub" name="agent_claim" />
        </div>
        <TextArea
          label="Address of the key set, or the key set"
          name="keys"
          rows={4}
          required
          wrong={is_no_json ? "Give an https address, or a JSON Web Key Set." : null}
        />
        {add.error !== null && !is_no_json && <Failed error={add.error} />}
        <FormActions action="Add" disabled={add.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}
