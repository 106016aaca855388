import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** Where `vite web` (the development server) finds a running coordinator. */
const coordinator = process.env.CAPSTAN_URL ?? "http://127.0.0.1:4600";

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  build: {
    outDir: "dist",
    emptyOutDir: true,
    // A data: URL would need a wider content security policy than 'self'.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // Libraries change less often than pages, so browsers may keep them longer.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: "mantine", test: /node_modules\/@mantine/ },
            { name: "react", test: /node_modules\/(react|react-dom|react-router|scheduler)\// },
          ],
        },
      },
    },
  },
  server: {
    // The coordinator checks Host and Origin, so both must name it.
    proxy: {
      "/api": { target: coordinator, changeOrigin: true, headers: { origin: coordinator } },
      "/ws": {
        target: coordinator,
        ws: true,
        changeOrigin: true,
        headers: { origin: coordinator },
      },
    },
  },
});
