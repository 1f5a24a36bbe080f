/**
 * Commands by what they mean. Patterns match a run: the program and its arguments, with options before the subcommand
 * moved to the end. `words` matches alternatives at the start, each as whole words.
 */
const words = (...starts: readonly string[]): RegExp => new RegExp(`^(?:${starts.join("|")})(?= |$)`);

export const discarding: readonly RegExp[] = [
  /^git reset (?:.* )?--(?:hard|merge|keep)(?= |$)/,
  /^git clean (?:.* )?(?:-[a-zA-Z]*f|--force)/,
  /^git checkout (?:.* )?(?:--|-f|--force|\.)(?= |$)/,
  /^git restore (?:(?!--staged).)*$/,
  /^git branch (?:.* )?(?:-D|--delete --force)(?= |$)/,
  /^git gc (?:.* )?--prune/,
  words("git stash (?:drop|clear)", "git tag -d", "git reflog (?:expire|delete)", "git filter-(?:branch|repo)"),
  words("git update-ref -d", "git worktree remove", "git submodule deinit", "npm unpublish", "vagrant destroy"),
  words("docker system prune", "docker (?:volume|container|image) (?:rm|prune)", "crontab -r", "dropdb"),
  /^docker(?:-| )compose down (?:.* )?(?:-v|--volumes)(?= |$)/,
  /^prisma (?:migrate reset|db push .*--force-reset)/,
  /^(?:bin\/)?(?:rails|rake) db:(?:drop|reset|purge|migrate:reset|schema:load)/,
  /^redis-cli (?:.* )?flush(?:all|db)/i,
  /^mysqladmin (?:.* )?drop(?= |$)/,
  /^(?:php )?artisan migrate:(?:fresh|reset)/,
  /^(?:python[\d.]* )?(?:\.\/)?manage\.py flush/,
  words(
    "alembic downgrade",
    "sequelize db:drop",
    "typeorm schema:drop",
    "supabase db reset",
    "dotnet ef database drop",
  ),
];

/** Statements of SQL and of MongoDB that drop or empty. */
export const discardingCode: readonly RegExp[] = [
  /\bdrop\s+(?:table|database|schema|view|index|role|user)\b/i,
  /\btruncate(?:\s+table)?\s+[\w."]/i,
  /\bdelete\s+from\s+[\w."]+\s*(?:;|$)/i,
  /\balter\s+table\s+[\w."]+\s+drop\b/i,
  /\bdropDatabase\(|\.drop\(\)|deleteMany\(\s*(?:\{\s*\})?\s*\)/,
];

export const secretPrinting: readonly RegExp[] = [
  /^(?:env|printenv(?: \w+)*)$/,
  words("gh auth token", "aws configure (?:get|export-credentials)", "aws secretsmanager get-secret-value"),
  words("aws ssm get-parameters?", "aws sts (?:get-session-token|assume-role)", "heroku config", "npm token"),
  words("gcloud auth (?:application-default )?print-[a-z-]+", "gcloud secrets versions access"),
  words("az account get-access-token", "az keyvault secret show", "security find-(?:generic|internet)-password"),
  words("vault (?:read|kv get)", "op (?:read|item get)", "pass show", "bw get", "doppler secrets", "chamber read"),
  words(
    "sops (?:-d|--decrypt|decrypt)",
    "gpg --export-secret-keys",
    "git credential fill",
    "docker-credential-\\w+ get",
  ),
  /^kubectl get secrets?(?:\/\S+)? (?:.* )?(?:-o|--output|--template)/,
];

export const publishing: readonly RegExp[] = [
  /^aws s3(?:api)? (?:cp|sync|mv|put-object) .*s3:\/\//,
  /^(?:gsutil (?:.* )?(?:cp|rsync|mv)|gcloud storage (?:cp|rsync|mv)) .*gs:\/\//,
  words("az storage blob upload(?:-batch)?", "rclone (?:copy|sync|move)", "(?:npm|pnpm|yarn|bun) (?:npm )?publish"),
  words("cargo publish", "twine upload", "poetry publish", "uv publish", "gem push", "docker push", "podman push"),
  words("helm push", "vsce publish", "gh gist create", "gh (?:issue|pr) comment", "gh issue create", "gh secret set"),
  words("gh ssh-key add", "sendmail", "mail", "mutt", "swaks", "msmtp", "ngrok", "cloudflared tunnel", "croc send"),
  /^gh api (?:.* )?(?:(?:-X|--method)[ =]?(?:POST|PUT|PATCH|DELETE)|-f|-F|--field|--raw-field|--input)(?= |=|$)/,
];

export const pushing: readonly RegExp[] = [
  words("git (?:push|send-pack)", "git svn dcommit", "(?:gh|glab) (?:pr|mr) (?:create|merge|close|ready)"),
  words("gh release (?:create|delete|upload|edit)", "gh workflow run", "gh repo (?:create|delete|edit|archive)"),
];

/** A push that can overwrite or delete what others pushed. */
export const overwriting =
  /^git push (?:.* )?(?:-[a-zA-Z]*[fd][a-zA-Z]*|--force\S*|--mirror|--delete|--prune|\+\S+|:\S+)(?= |$)/;

/** A push to one branch whose name says that one person works on it. */
export const ownBranch =
  /^git push(?: -\S+)* [^\s-]\S*(?: -\S+)* \+?(?:[^\s:]+:|:)?(?:refs\/heads\/)?(?:feature|feat|fix|bugfix|chore|docs|test|wip|topic|agent|claude)[/-][^\s:]+(?: -\S+)*$/;

export const changingRights: readonly RegExp[] = [
  words("su", "passwd", "visudo", "user(?:add|mod|del)", "groupadd", "gpasswd", "chpasswd", "adduser", "deluser"),
  words("mount", "umount", "insmod", "modprobe", "sysctl -w", "ip6?tables", "nft", "ufw", "pfctl", "setenforce"),
  words("spctl", "csrutil", "setcap", "nsenter", "unshare", "shutdown", "reboot", "halt", "poweroff", "init [06]"),
  /^systemctl (?:start|stop|restart|enable|disable|mask|daemon-reload|edit|isolate|poweroff|reboot)(?= |$)/,
  /^service \S+ (?:start|stop|restart)(?= |$)/,
  /^launchctl (?:load|unload|bootstrap|bootout|enable|disable)(?= |$)/,
  /^chmod (?:.* )?(?:[ugoa]*\+[rwx]*s|[2467][0-7]{3}) /,
  /^(?:docker|podman) run (?:.* )?(?:--privileged|--(?:pid|network|net)=host|--cap-add|(?:-v|--volume)[ =]?\/(?::|var\/run\/docker))/,
];

export const scheduling: readonly RegExp[] = [
  /^crontab(?! -l)(?= |$)/,
  words("at (?:now|\\d|-f|-t)\\S*", "batch", "loginctl enable-linger", "ssh-copy-id", "ssh-add", "defaults write"),
  words("systemctl --user enable", "(?:npm|yarn|pip) config set"),
  /^git config (?:.* )?(?:core\.(?:hooksPath|sshCommand|fsmonitor|pager|editor)|credential\.helper|alias\.\S+|init\.templateDir) \S/,
];

/** Commands with a program inside an argument that is not read. */
export const startingOthers: readonly RegExp[] = [
  words(
    "parallel",
    "tmux",
    "screen",
    "hyperfine",
    "entr",
    "watch",
    "script",
    "git submodule foreach",
    "git bisect run",
  ),
  /^git rebase (?:.* )?(?:--exec|-x)(?= |=)/,
  /^tar (?:.* )?(?:--to-command|--checkpoint-action|--use-compress-program|-I)(?= |=)/,
  /^env (?:.* )?(?:-S|--split-string)/,
  /^(?:vim?|nvim|ed|ex|emacs) (?:.* )?(?:-c|\+\S|--eval|--cmd)/,
  /^(?:ssh|scp|rsync|git) (?:.* )?(?:-o ?)?ProxyCommand/i,
  /^(?:npx|npm exec|npm x) (?:.* )?(?:-c|--call)(?= |=)/,
  /^flock (?:.* )?-c /,
];

/** Programs that change the guard of the agent, or start another agent with other settings. */
export const guarding: readonly RegExp[] = [
  words(
    "countersign (?:hook (?:install|uninstall)|keys|orgs|policies|serve|secrets|freeze|approvals|grants|distribute)",
  ),
  /^claude (?:.*--(?:settings|setting-sources|(?:allow-)?dangerously-skip-permissions|permission-mode|bare)|-p|--print|config|plugin|mcp (?:add|remove)|"?[^-\s])/,
  /^git (?:.* )?-c ?core\.(?:hooksPath|fsmonitor|sshCommand|pager|editor)=/,
];

/** Variables that load code into other programs or lead Countersign and Claude Code elsewhere. */
export const guardVariables =
  /^(?:COUNTERSIGN_\w+|CLAUDE_CONFIG_DIR|CLAUDE_CODE_\w+|LD_PRELOAD|DYLD_INSERT_LIBRARIES|BASH_ENV|PROMPT_COMMAND|GIT_SSH_COMMAND|GIT_EXTERNAL_DIFF)=|^NODE_OPTIONS=.*(?:--require|--import|-r )/;

export const changingSystems: readonly RegExp[] = [
  words("(?:terraform|tofu|terragrunt) (?:apply|destroy|import|taint|untaint|state (?:rm|mv|push)|force-unlock)"),
  words(
    "(?:kubectl|oc) (?:apply|create|delete|replace|patch|edit|scale|exec|cp|drain|cordon|uncordon|taint|label|annotate|set|run|expose|autoscale|debug|rollout (?:restart|undo|pause))",
  ),
  words("helm (?:install|upgrade|uninstall|delete|rollback)", "pulumi (?:up|destroy|cancel|import|refresh)"),
  /^aws [a-z0-9-]+ (?:(?:create|delete|update|put|modify|terminate|run|start|stop|reboot|deregister|register|attach|detach|remove|add|set|revoke|authorize|restore|invoke|send|publish|execute|schedule|cancel|enable|disable)(?:-[a-z-]+)?|rm|rb|mb|mv|deploy)(?= |$)/,
  /^gcloud (?:[a-z0-9-]+ )*(?:create|delete|deploy|update|(?:add|remove)-iam-policy-binding|set-iam-policy|start|stop|reset|resize|patch|restart|ssh)(?= |$)/,
  /^az (?:[a-z0-9-]+ )*(?:create|delete|update|set|start|stop|restart|deploy|up|purge|import|run|invoke|add|remove)(?= |$)/,
  /^heroku (?:ps:|pg:(?:reset|push)|apps:destroy|config:(?:set|unset)|run|releases:rollback|addons:destroy|maintenance:)/,
  /^(?:vercel|netlify)(?:$| (?:deploy|rollback|promote|remove|rm|env (?:add|rm))(?= |$)| (?:.* )?--prod)/,
  words("(?:fly|flyctl) (?:deploy|apps destroy|scale|secrets (?:set|unset)|ssh|machine|volumes destroy)"),
  words(
    "wrangler (?:deploy|publish|delete|secret|d1 execute)",
    "firebase (?:deploy|functions:delete)",
    "eb (?:deploy|terminate)",
  ),
  words("(?:serverless|sls) (?:deploy|remove)", "cdk (?:deploy|destroy)", "sam (?:deploy|delete)", "cap \\S+ deploy"),
  words("ansible-playbook", "ansible", "argocd app (?:sync|delete|set)", "docker stack deploy", "docker service \\w+"),
  words("railway (?:up|down|run)", "supabase (?:db push|functions deploy)", "doctl \\S+ (?:create|delete)"),
];

export const wipingDisks = words(
  ...["mkfs(?:\\.\\w+)?", "wipefs", "sgdisk", "parted", "fdisk", "blkdiscard", "diskutil (?:erase|partition)\\w*"],
  ...["cryptsetup (?:luksFormat|erase)", "lvremove", "vgremove", "zpool destroy", "zfs destroy"],
);

const production = /(?:^|[^a-zA-Z])(?:prod|prd|production)(?:$|[^a-zA-Z])/i;

/** Programs that work with systems elsewhere. In other commands, `prod` is a word. */
const remotePrograms =
  /^(?:kubectl|helm|oc|aws|gcloud|gsutil|az|terraform|tofu|pulumi|heroku|fly|flyctl|vercel|netlify|wrangler|firebase|serverless|sls|cdk|doctl|railway|supabase|psql|pg_dump|pg_restore|mysql|mysqldump|mariadb|mongosh|mongo|mongodump|redis-cli|ssh|scp|rsync|sftp|ansible|ansible-playbook|cap|eb|sam|argocd|curl|wget) /;

export function namesProduction(run: string): boolean {
  if (/^(?:vercel|netlify) (?:.* )?--prod/.test(run)) return true;
  return remotePrograms.test(run) && production.test(run);
}

/** `NODE_ENV=production` is a mode of builds and does not count. */
export const productionVariable =
  /^(?!NODE_ENV=)(?:\w*(?:PROFILE|URL|URI|HOST|KUBECONFIG|CONTEXT|PROJECT|STAGE|STACK|WORKSPACE|SUBSCRIPTION|ENVIRONMENT|_ENV|SETTINGS_MODULE))=(?:.*[^a-zA-Z])?(?:prod|prd|production)(?:$|[^a-zA-Z])/i;
