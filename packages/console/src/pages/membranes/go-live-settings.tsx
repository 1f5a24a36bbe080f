import { useQuery } from "@tanstack/react-query";
import { useClient } from "../../api/session.tsx";
import { OrganizationSwitch } from "../../parts/organization-switch.tsx";
import { Who } from "../../parts/records/who.tsx";

/** Shows the settings of the organization for membranes that go live. */
export function GoLiveSettings() {
  const client = useClient();
  const { data: settings } = useQuery({ queryKey: ["organization"], queryFn: () => client.getOrganization() });
  const alone = settings?.go_live_alone_requested_by ?? null;
  return (
    <section className="card stack" aria-label="Before a membrane goes live">
      <h2>Before a membrane goes live</h2>
      <OrganizationSwitch
        label="It must be ready"
        isOn={(of) => of.go_live_needs_ready}
        change={(on) => ({ go_live_needs_ready: on })}
      />
      <OrganizationSwitch
        label="An admin must type its name"
        isOn={(of) => of.go_live_needs_name}
        change={(on) => ({ go_live_needs_name: on })}
      />
      <OrganizationSwitch
        label="A second admin must confirm, and also before it returns to shadow"
        isOn={(of) => of.go_live_needs_second_person}
        change={(on) => ({ go_live_needs_second_person: on })}
      />
      {alone !== null && (
        <p role="status">
          <Who id={alone} />
          {" asked to switch the second admin off. A second, different admin must switch it off, too."}
        </p>
      )}
    </section>
  );
}
