/** API keys. */
import { type ApiKey, type ApiKeyCreated, type ApiKeyInput, limits, type Role } from "@countersign/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useClient, useMay, useSession } from "../../api/session.tsx";
import { nowMs } from "../../browser/clock.ts";
import { Confirm, Dialog, FormActions } from "../../parts/forms/dialog.tsx";
import { SelectField, TextField } from "../../parts/forms/field.tsx";
import { useShowSecret } from "../../parts/forms/shown-secret.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Badge } from "../../parts/records/badge.tsx";
import { Empty, Failed } from "../../parts/states.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { ListTable } from "../../parts/tables/list-table.tsx";
import { Paged, usePaged } from "../../parts/tables/paged.tsx";
import { Time } from "../../parts/time.tsx";
import { useToasts } from "../../parts/toasts.tsx";

type Asked = { readonly act: "revoke" | "rotate"; readonly key: ApiKey };

export function KeysPage() {
  const client = useClient();
  const { caller, signIn } = useSession();
  const queries = useQueryClient();
  const toasts = useToasts();
  const may = useMay("admin");
  const [creating, setCreating] = useState(false);
  const showSecret = useShowSecret();
  const [asked, setAsked] = useState<Asked | null>(null);
  const list = usePaged(["keys"], async (cursor) => {
    const page = await client.listApiKeys(cursor === undefined ? {} : { cursor });
    return { rows: page.api_keys, next_cursor: page.next_cursor };
  });
  const refresh = () => void queries.invalidateQueries({ queryKey: ["keys"] });
  const revoke = useMutation({
    mutationFn: (key_id: string) => client.revokeApiKey(key_id),
    onSuccess: () => toasts.done("Key revoked", "No request that begins from now on succeeds with it."),
    onError: toasts.failed,
    onSettled: () => {
      setAsked(null);
      refresh();
    },
  });
  const rotate = useMutation({
    mutationFn: (key_id: string) => client.rotateApiKey(key_id),
    onSuccess: async ({ api_key }) => {
      showSecret({
        title: "Your new key; the old one has ended",
        about: "Store it now.",
        text: api_key,
        label: "Copy the key",
      });
      await signIn(api_key);
    },
    onError: toasts.failed,
    onSettled: () => {
      setAsked(null);
      refresh();
    },
  });
  return (
    <>
      <PageHead title="API keys" about="What agents and integrations sign in with. Shown in full only once.">
        {may && (
          <button type="button" className="button primary" onClick={() => setCreating(true)}>
            Create a key
          </button>
        )}
      </PageHead>
      <section className="card" aria-label="API keys">
        <Paged
          list={list}
          what="keys"
          empty={
            <Empty title="No keys yet">
              <p>The first key ends open mode for good: from then on every request needs one.</p>
            </Empty>
          }
        >
          {(rows) => <KeyTable rows={rows} own={caller?.type === "key" ? caller.id : null} onAsk={setAsked} />}
        </Paged>
      </section>
      {creating && (
        <CreateDialog
          onClose={() => setCreating(false)}
          onMade={(key) => {
            setCreating(false);
            showSecret({ title: "The new key", about: "Store it now.", text: key.api_key, label: "Copy the key" });
            // The first key has ended open mode: this tab goes on with it, or nobody here is anybody any more.
            if (caller?.type === "open_mode") void signIn(key.api_key).catch(toasts.failed);
            else refresh();
          }}
        />
      )}
      {asked !== null && (
        <Confirm
          title={asked.act === "revoke" ? "Revoke this key?" : "Replace your key?"}
          action={asked.act === "revoke" ? "Revoke" : "Replace it"}
          tone={asked.act === "revoke" ? "bad" : "primary"}
          busy={revoke.isPending || rotate.isPending}
          onConfirm={() => (asked.act === "revoke" ? revoke : rotate).mutate(asked.key.key_id)}
          onClose={() => setAsked(null)}
        >
          <p>
            <strong>
              <Data text={asked.key.name ?? "unnamed"} />
            </strong>{" "}
            <span className="mono small muted">{asked.key.key_id}</span>
          </p>
          <p>
            {asked.act === "revoke"
              ? asked.key.key_id === caller?.id
                ? "This is the key you are using: you will be signed out."
                : "Whoever uses it is refused from the next request on. This cannot be undone."
              : "The old key ends at once, and this tab goes on with the new one."}
          </p>
        </Confirm>
      )}
    </>
  );
}

function stateOf(key: ApiKey): "active" | "revoked" | "expired" {
  if (key.revoked_at !== null) return "revoked";
  return Date.parse(key.expires_at) <= nowMs() ? "expired" : "active";
}

function KeyTable({
  rows,
  own,
  onAsk,
}: {
  readonly rows: readonly ApiKey[];
  readonly own: string | null;
  readonly onAsk: (asked: Asked) => void;
}) {
  return (
    <ListTable heads={["Name", "Role", "Environment", "Last used", "Ends", "State"]} actions>
      {rows.map((key) => {
        const state = stateOf(key);
        return (
          <tr key={key.key_id}>
            <td>
              <Data text={key.name ?? "unnamed"} />
              {key.key_id === own && <span className="small muted"> (yours)</span>}
              <div className="mono small muted">{key.key_id}</div>
            </td>
            <td>
              {key.role}
              {key.agent_id !== null && (
                <div className="small muted">
                  {"for "}
                  <Data text={key.agent_id} />
                </div>
              )}
            </td>
            <td>{key.environment}</td>
            <td>{key.last_used_at === null ? "never" : <Time at={key.last_used_at} />}</td>
            <td>{key.revoked_at === null ? <Time at={key.expires_at} /> : "–"}</td>
            <td>
              <Badge text={state} tone={state === "active" ? "approve" : "plain"} />
            </td>
            <td>
              {state === "active" && (
                <span className="row">
                  {key.key_id === own && (
                    <button type="button" className="button small" onClick={() => onAsk({ act: "rotate", key })}>
                      Replace
                    </button>
                  )}
                  <button type="button" className="button small bad" onClick={() => onAsk({ act: "revoke", key })}>
                    Revoke
                  </button>
                </span>
              )}
            </td>
          </tr>
        );
      })}
    </ListTable>
  );
}

function CreateDialog({
  onClose,
  onMade,
}: {
  readonly onClose: () => void;
  readonly onMade: (key: ApiKeyCreated) => void;
}) {
  const client = useClient();
  const { caller } = useSession();
  const [role, setRole] = useState<Role>("agent");
  const create = useMutation({
    mutationFn: (input: ApiKeyInput) => client.createApiKey(input),
    onSuccess: onMade,
  });
  return (
    <Dialog title="Create a key" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const form = new FormData(event.currentTarget);
          const text = (name: string) => String(form.get(name) ?? "").trim();
          create.mutate({
            role,
            environment: text("environment") as "live",
            expires_in_days: Number(text("days")),
            ...(text("name") === "" ? {} : { name: text("name") }),
            ...(text("agent_id") === "" ? {} : { scope: "agent", agent_id: text("agent_id") }),
          });
        }}
      >
        <TextField label="Name" name="name" hint="Such as: refund bot, production" maxLength={limits.name_chars_max} />
        <SelectField
          label="Role"
          value={role}
          onChange={(event) => setRole(event.target.value as Role)}
          options={[
            ["agent", "agent: submits intents, reads its own"],
            ["reviewer", "reviewer: decides escalations"],
            ["operator", "operator: overrides, context, deliveries"],
            ["admin", "admin: everything"],
            ["auditor", "auditor: reads everything"],
          ]}
        />
        {role === "agent" && (
          <TextField
            label="Only for this agent id (optional)"
            name="agent_id"
            maxLength={limits.agent_id_chars_max}
            autoComplete="off"
          />
        )}
        <SelectField
          label="Environment"
          name="environment"
          options={[
            ["live", "live"],
            ["shadow", "shadow: nothing it submits is held"],
            ["test", "test"],
          ]}
        />
        <TextField
          label="Days until it ends"
          name="days"
          type="number"
          min={1}
          max={limits.api_key_lifetime_days_max}
          defaultValue={limits.api_key_lifetime_days_default}
          required
        />
        {caller?.type === "open_mode" && (
          <div className="banner warn">
            <div>
              <strong>This ends open mode for good</strong>
              Store the key: without one nobody gets in any more. Choose the role admin for the first one.
            </div>
          </div>
        )}
        {create.error !== null && <Failed error={create.error} />}
        <FormActions action="Create" disabled={create.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}
