/** Builds the console: hashed files, nothing inline, and separate chunks for libraries that only some pages need. */
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { verifyPage } from "./verify-page.ts";

// Always builds for production, with the small variant of React.
process.env["NODE_ENV"] = "production";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  plugins: [
    react(),
    {
      name: "verify-page",
      async generateBundle() {
        this.emitFile({ type: "asset", fileName: "verify.html", source: await verifyPage() });
      },
    },
  ],
  resolve: { conditions: ["@countersign/source", "module", "browser", "import", "default"] },
  build: {
    target: "es2023",
    cssTarget: "esnext",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    manifest: "manifest.json",
    // Libraries change rarely and pages often, so browsers can keep cached libraries.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: "editor", test: /node_modules\/(?:@codemirror|@lezer|style-mod|w3c-keyname|crelt|@marijn|yaml)\// },
            { name: "react", test: /node_modules\/(?:react|react-dom|scheduler|@tanstack)\// },
          ],
        },
      },
    },
  },
});
