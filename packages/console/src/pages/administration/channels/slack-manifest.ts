/** The manifest of the organization's Slack app. Slack creates the app from this text. */
export function slackManifest(request_url: string): string {
  return JSON.stringify(
    {
      display_information: { name: "Countersign", description: "Reviews actions of software agents" },
      features: {
        bot_user: { display_name: "Countersign", always_online: true },
        slash_commands: [
          {
            command: "/countersign",
            url: request_url,
            description: "Link your account",
            usage_hint: "link CODE",
            should_escape: false,
          },
        ],
      },
      oauth_config: { scopes: { bot: ["chat:write", "commands"] } },
      settings: {
        interactivity: { is_enabled: true, request_url },
        org_deploy_enabled: false,
        socket_mode_enabled: false,
        token_rotation_enabled: false,
      },
    },
    null,
    2,
  );
}
