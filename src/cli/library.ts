/** Capstan as a library: `import { openCapstan } from "capstan"`. */
export { openCapstan } from "./embedded/open-capstan.ts";
