/** Files by what they mean. Patterns match a resolved path. */

const secret: readonly RegExp[] = [
  /(?:^|\/)\.env(?:\*|(?:\.[\w*-]+)*)$/,
  /(?:^|\/)\.(?:envrc|netrc|pgpass|git-credentials|npmrc|pypirc|htpasswd|vault-token)$/,
  /(?:^|\/)id_(?:rsa|dsa|ecdsa|ed25519)\w*$/,
  /(?:^|\/)credentials(?:\.(?:json|csv|ya?ml|toml))?$/,
  /(?:^|\/)secrets?\.(?:json|ya?ml|toml|env)$/,
  /(?:^|\/)(?:service[-_]account[\w-]*\.json|kubeconfig)$/,
  /(?:^|\/)[^/]*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|tfstate|tfvars)$/,
  /\/\.(?:ssh|gnupg|aws|azure|kube|docker|password-store)(?:\/|$)/,
  /\/\.config\/(?:gh|gcloud|op|doppler|heroku)(?:\/|$)/,
  /^\/etc\/(?:shadow|gshadow|sudoers)$/,
  /^\/proc\/[^/]+\/environ$/,
];

const noSecret: readonly RegExp[] = [
  /\.env\.(?:example|sample|template|dist|test|schema|defaults?)$/,
  /\.pub$|\/known_hosts$|\/\.docker\/(?:Dockerfile|compose)[^/]*$/,
];

export function isSecretFile(path: string): boolean {
  return secret.some((pattern) => pattern.test(path)) && !noSecret.some((pattern) => pattern.test(path));
}

/** Files that make something run later: start-up files, scheduled jobs, hooks, settings of tools. */
export const laterFiles: readonly RegExp[] = [
  /(?:^|\/)\.(?:bashrc|bash_profile|bash_login|bash_logout|profile|zshrc|zprofile|zshenv|zlogin|inputrc)$/,
  /(?:^|\/)\.(?:gitconfig|vimrc|tmux\.conf|mcp\.json|envrc)$/,
  /(?:^|\/)\.config\/(?:fish|autostart|systemd|nvim|git)(?:\/|$)/,
  /(?:^|\/)\.ssh\/(?:authorized_keys|config|rc)$/,
  /(?:^|\/)\.git\/(?:hooks(?:\/|$)|config$)/,
  /(?:^|\/)\.husky\//,
  /(?:^|\/)\.vscode\/(?:tasks|settings|launch)\.json$/,
  /\/Library\/Launch(?:Agents|Daemons)\//,
  /^\/etc\/(?:cron|profile|rc\.local|systemd\/|init\.d\/|ld\.so\.preload|hosts$|pam\.d\/|sudoers)/,
  /^\/var\/spool\/cron/,
];

/** Settings and hooks of Claude Code. */
export const guardFiles =
  /(?:^|\/)\.claude(?:\/(?:settings[^/]*|hooks(?:\/.*)?|\*))?$|(?:^|\/)(?:managed-settings\.(?:json|d)|\.claude\.json)(?:\/|$)/;

export const wipedRoots: readonly RegExp[] = [
  /^(?:\/(?:\.?\*)?|~(?:\/\.?\*)?)$/,
  /^(?:\/home|\/Users)(?:\/[^/]+)?(?:\/\*)?$/,
  /^\/(?:root|bin|boot|dev|etc|lib|lib64|opt|proc|sbin|srv|sys|usr|var|System|Library|Applications|Volumes|mnt|media)(?:\/\*)?$/,
  /^\/(?:usr|var)\/(?:bin|lib|local|log|www)(?:\/\*)?$/,
];

export const disks = /^\/dev\/(?:[shv]d[a-z]|nvme\d|r?disk\d|mapper\/|mmcblk\d|k?mem$)/;

/** The service of a cloud that gives every caller the credentials of the machine. */
export const metadataHosts: ReadonlySet<string> = new Set([
  ...["169.254.169.254", "169.254.170.2", "100.100.100.200", "metadata", "metadata.google.internal"],
  ...["instance-data", "instance-data.ec2.internal", "fd00:ec2::254", "::ffff:169.254.169.254", "::ffff:a9fe:a9fe"],
  ...["2852039166", "0xa9fea9fe", "0251.0376.0251.0376"],
]);

/** Code that uses the network, other programs, the environment, or changes files. Finds usual names, not hidden ones. */
export const reachingCode: readonly RegExp[] = [
  /\b(?:subprocess|shutil|socket|urllib|httpx|aiohttp|ftplib|smtplib|paramiko|ctypes|pickle|__import__|child_process)\b/,
  /\bos\.(?:system|popen|exec|spawn|remove|unlink|rmdir|rename|environ|getenv|kill)/,
  /\brequests\.|http\.client|Net::HTTP|open-uri|\bLWP\b|IO::Socket|Net\.WebClient|curl_exec|XMLHttpRequest|\baxios\b/,
  /\bfetch\(|\b(?:exec|eval|compile|system|popen|passthru|shell_exec)\b\s*\(|\bsystem\b|`/,
  /process\.env|\bENV\[|\bimport\(|require\(\s*["'](?:node:)?(?:https?|net|dgram|tls|fs|vm|worker_threads)/,
  /\bfs\.(?:promises|rm|unlink|write|append|rename|truncate|chmod|copy)|writeFile|unlinkSync|rmSync|cpSync/,
  /open\([^)]{0,200},\s*["'][wax+]|write_text|write_bytes|\bunlink\b|rmtree|FileUtils|IO\.popen|Kernel\.|File\.(?:delete|write)/,
  /file_(?:get|put)_contents|do shell script|Invoke-|EncodedCommand|\bcopy\s+[\w."]+\s+(?:to|from)\b|load_extension/i,
  /base64|b64decode|fromCharCode|\batob\(|169\.254\./,
];
