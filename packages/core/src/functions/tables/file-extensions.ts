/**
 * Endings of files that are not addresses: `report.pdf`. Endings that are also top-level domains (`md`, `sh`, `zip`)
 * are missing, because they can lead to a host. Checked against the root zone of 2026-11-18.
 */
export const fileExtensions: ReadonlySet<string> = new Set(
  (
    "txt|rtf|log|csv|tsv|pdf|doc|docx|docm|odt|xls|xlsx|xlsm|ods|ppt|pptx|odp|epub|eml|msg|ics|vcf|" +
    "png|jpg|jpeg|gif|svg|webp|bmp|tif|tiff|heic|ico|wav|avi|mkv|webm|flac|ogg|" +
    "html|htm|xml|json|jsonl|yaml|yml|toml|ini|cfg|conf|env|lock|bak|tmp|sql|db|sqlite|parquet|ipynb|" +
    "js|mjs|cjs|ts|tsx|jsx|css|scss|kt|rb|cpp|hpp|php|lua|swift|exe|dll|jar|tar|gz|tgz|rar|iso"
  ).split("|"),
);
