import { useState } from "react";
import { SingleSignOnSettings } from "../../account/single-sign-on-settings.tsx";
import { useClient, useMay, useSession } from "../../api/session.tsx";
import { OrganizationSwitch } from "../../parts/organization-switch.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Empty } from "../../parts/states.tsx";
import { Paged, usePaged } from "../../parts/tables/paged.tsx";
import { Invitations, InviteDialog } from "./people/invitations.tsx";
import { PeopleTable } from "./people/people-table.tsx";
import { type PersonChange, PersonChangeQuestion, usePersonChange } from "./people/person-change.tsx";
import { ReviewerPaceCard } from "./people/reviewer-pace.tsx";

export function PeoplePage() {
  const client = useClient();
  const may = useMay("admin");
  const { caller } = useSession();
  const [inviting, setInviting] = useState(false);
  const [asked, setAsked] = useState<PersonChange | null>(null);
  const list = usePaged(["people", "list"], async (cursor) => {
    const page = await client.listPeople(cursor === undefined ? {} : { cursor });
    return { rows: page.people, next_cursor: page.next_cursor };
  });
  const change = usePersonChange(setAsked);
  return (
    <>
      <PageHead title="People" about="Who may sign in, and with which role.">
        {may && (
          <button type="button" className="button primary" onClick={() => setInviting(true)}>
            Invite somebody
          </button>
        )}
      </PageHead>
      <section className="card" aria-label="People">
        <Paged
          list={list}
          what="people"
          empty={
            <Empty title="Nobody has an account here yet">
              <p>Invite people by e-mail. Until then API keys are the only way in.</p>
            </Empty>
          }
        >
          {(rows) => <PeopleTable rows={rows} onAsk={setAsked} />}
        </Paged>
      </section>
      {may && (
        <section className="card stack" aria-label="Second factor">
          <h2>Second factor</h2>
          <OrganizationSwitch
            label="Everybody needs a second factor: people without one can only set one up"
            isOn={(settings) => settings.second_factor_required}
            change={(on) => ({ second_factor_required: on })}
          />
          <p className="small muted">
            API keys go on. Single sign-on counts if your provider reports more than one factor.
          </p>
        </section>
      )}
      {may && <ReviewerPaceCard />}
      {may && <Invitations />}
      {may && caller?.type !== "open_mode" && <SingleSignOnSettings />}
      {inviting && <InviteDialog onClose={() => setInviting(false)} />}
      {asked !== null && (
        <PersonChangeQuestion
          change={asked}
          busy={change.isPending}
          onConfirm={(made) => change.mutate({ ...asked, ...(made === undefined ? {} : { made }) })}
          onClose={() => setAsked(null)}
        />
      )}
    </>
  );
}
