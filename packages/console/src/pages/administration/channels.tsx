import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useClient, useMay } from "../../api/session.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Loaded } from "../../parts/states.tsx";
import { SlackCard } from "./channels/slack-card.tsx";
import { TeamsCard } from "./channels/teams-card.tsx";

export function ChannelsPage() {
  const client = useClient();
  const may = useMay("admin");
  const query = useQuery({ queryKey: ["channels"], queryFn: () => client.getChannels() });
  return (
    <>
      <PageHead title="Channels" about="Where reviewers learn of actions that wait, besides this console." />
      <Loaded query={query} what="the channels">
        {(channels) => (
          <div className="grid-2">
            <SlackCard channels={channels} may={may} />
            <TeamsCard teams={channels.teams} may={may} />
          </div>
        )}
      </Loaded>
      <p className="small muted">
        {"Each person chooses mails and push notices under "}
        <Link to="/settings">Settings</Link>
        {". Everybody in a connected channel can read what its cards show."}
      </p>
    </>
  );
}
