import { type LegalHold, type LegalHoldInput, limits } from "@countersign/contract";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useClient, useMay } from "../api/session.tsx";
import { Confirm, Dialog, FormActions } from "../parts/forms/dialog.tsx";
import { SelectField, TextField } from "../parts/forms/field.tsx";
import { Who } from "../parts/records/who.tsx";
import { Failed, Loaded } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";
import { ListTable } from "../parts/tables/list-table.tsx";
import { Time } from "../parts/time.tsx";
import { useToasts } from "../parts/toasts.tsx";
import { subjectKinds } from "./erase-dialog.tsx";

const holdsKey = ["legal-holds"];

export function LegalHolds() {
  const client = useClient();
  const admin = useMay("admin");
  const [adds, setAdds] = useState(false);
  const [released, setReleased] = useState<LegalHold | null>(null);
  const query = useQuery({
    queryKey: holdsKey,
    queryFn: () => client.listLegalHolds({ limit: limits.legal_holds_max }),
  });
  return (
    <>
      <div className="row between">
        <h3>Legal holds</h3>
        {admin && (
          <button type="button" className="button small" onClick={() => setAdds(true)}>
            Place a hold
          </button>
        )}
      </div>
      <Loaded query={query} what="the legal holds">
        {({ legal_holds }) =>
          legal_holds.length === 0 ? (
            <p className="muted">Nothing is on hold.</p>
          ) : (
            <ListTable heads={["On hold", "Reason", "By", "Since"]} actions>
              {legal_holds.map((hold) => (
                <tr key={hold.hold_id}>
                  <td>
                    {hold.subject === null ? (
                      "everything"
                    ) : (
                      <Data text={`${hold.kind} ${hold.subject}`} chars_max={60} />
                    )}
                  </td>
                  <td>
                    <Data text={hold.reason} lines chars_max={300} />
                  </td>
                  <td>
                    <Who id={hold.placed_by} />
                  </td>
                  <td>
                    <Time at={hold.placed_at} />
                  </td>
                  <td>
                    {admin && (
                      <button type="button" className="button small" onClick={() => setReleased(hold)}>
                        Release
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </ListTable>
          )
        }
      </Loaded>
      {adds && <PlaceDialog onClose={() => setAdds(false)} />}
      {released !== null && <ReleaseDialog hold={released} onClose={() => setReleased(null)} />}
    </>
  );
}

function PlaceDialog({ onClose }: { readonly onClose: () => void }) {
  const client = useClient();
  const queries = useQueryClient();
  const [kind, setKind] = useState<LegalHoldInput["kind"]>("person");
  const place = useMutation({
    mutationFn: (input: LegalHoldInput) => client.createLegalHold(input),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: holdsKey });
      onClose();
    },
  });
  return (
    <Dialog title="Place a legal hold" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const form = new FormData(event.currentTarget);
          const text = (name: string) => String(form.get(name) ?? "").trim();
          place.mutate({ kind, reason: text("reason"), ...(kind === "all" ? {} : { subject: text("subject") }) });
        }}
      >
        <p>Neither an erasure nor retention removes what is on hold.</p>
        <SelectField
          label="What"
          value={kind}
          onChange={({ target: { value } }) => setKind(value as LegalHoldInput["kind"])}
          options={[...subjectKinds, ["intent", "One intent"], ["all", "Everything"]]}
        />
        {kind !== "all" && (
          <TextField label="Its id or text" name="subject" maxLength={limits.target_identifier_chars_max} required />
        )}
        <TextField label="Reason" name="reason" maxLength={limits.comment_chars_max} required />
        {place.error !== null && <Failed error={place.error} />}
        <FormActions action="Place the hold" disabled={place.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}

function ReleaseDialog({ hold, onClose }: { readonly hold: LegalHold; readonly onClose: () => void }) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  const release = useMutation({
    mutationFn: () => client.deleteLegalHold(hold.hold_id),
    onSuccess: () => toasts.done("Legal hold released", "Retention and erasures may remove these records now."),
    onError: toasts.failed,
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: holdsKey });
      onClose();
    },
  });
  return (
    <Confirm
      title="Release the legal hold?"
      action="Release"
      tone="bad"
      busy={release.isPending}
      onConfirm={() => release.mutate()}
      onClose={onClose}
    >
      <p>Retention may then remove these records within a minute.</p>
    </Confirm>
  );
}
