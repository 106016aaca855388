/**
 * The dashboard's look: cool greys, one sea-green accent, small type. Text colours keep a contrast
 * of at least 4.5:1 on their backgrounds in both schemes.
 */
import {
  type CSSVariablesResolver,
  createTheme,
  localStorageColorSchemeManager,
  type MantineColorsTuple,
} from "@mantine/core";

const harbor: MantineColorsTuple = [
  "#e6f6f8",
  "#d0eaee",
  "#a1d3dc",
  "#6fbcca",
  "#46a7b8",
  "#2497aa",
  "#118a9d",
  "#0b7285",
  "#086475",
  "#045161",
];

const dark: MantineColorsTuple = [
  "#dde3ea",
  "#bac4cf",
  "#94a1b0",
  "#6b7886",
  "#36414c",
  "#2a333d",
  "#212932",
  "#181f27",
  "#11161c",
  "#0b0f14",
];

const gray: MantineColorsTuple = [
  "#f7f9fa",
  "#f0f3f5",
  "#e4e9ed",
  "#d5dce2",
  "#b9c3cc",
  "#94a1ad",
  "#66737f",
  "#4c5864",
  "#333d47",
  "#1d252d",
];

/** What modals and drawers share. */
const dialogProps = {
  overlayProps: { backgroundOpacity: 0.4 },
  closeButtonProps: { "aria-label": "Close" },
};

export const theme = createTheme({
  colors: { harbor, dark, gray },
  primaryColor: "harbor",
  primaryShade: { light: 7, dark: 7 },
  defaultRadius: "sm",
  fontFamily: '"Inter Variable", system-ui, -apple-system, "Segoe UI", Roboto, sans-serif',
  fontFamilyMonospace: '"JetBrains Mono Variable", ui-monospace, Menlo, Consolas, monospace',
  fontSizes: {
    xs: "0.75rem",
    sm: "0.8125rem",
    md: "0.875rem",
    lg: "1rem",
    xl: "1.25rem",
  },
  headings: { fontWeight: "600", sizes: { h1: { fontSize: "1.25rem", lineHeight: "1.4" } } },
  respectReducedMotion: true,
  cursorType: "pointer",
  components: {
    Button: { defaultProps: { size: "xs" } },
    Tooltip: {
      defaultProps: { withArrow: true, openDelay: 250, transitionProps: { duration: 100 } },
    },
    Modal: {
      defaultProps: { centered: true, transitionProps: { duration: 120 }, ...dialogProps },
      classNames: { title: "dialog-title" },
    },
    Drawer: {
      defaultProps: { transitionProps: { duration: 160 }, ...dialogProps },
      classNames: { title: "dialog-title" },
    },
  },
});

export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    "--mantine-color-text": "#1d252d",
    "--mantine-color-dimmed": "#5a6773",
    "--mantine-color-body": "#ffffff",
    "--mantine-color-default-border": "#d5dce2",
    "--mantine-color-anchor": "#086475",
    "--mantine-color-placeholder": "#66737f",
    "--page": "#f4f6f8",
    "--surface": "#ffffff",
    "--line": "#e0e6ea",
    "--hover": "#f4f7f8",
    "--good": "#1b7f4d",
    "--good-fill": "#2f9e66",
    "--warn": "#9a5b00",
    "--warn-fill": "#e8a33d",
    "--bad": "#bf2c2c",
    "--bad-fill": "#d64545",
    "--bad-wash": "#fdf1f1",
    "--warn-wash": "#fef7e8",
    "--accent": "#0b7285",
    "--accent-wash": "#e6f6f8",
  },
  dark: {
    "--mantine-color-text": "#dde3ea",
    "--mantine-color-dimmed": "#94a1b0",
    "--mantine-color-body": "#181f27",
    "--mantine-color-default-border": "#36414c",
    "--mantine-color-anchor": "#6fbcca",
    "--mantine-color-placeholder": "#7f8c9a",
    "--page": "#10151a",
    "--surface": "#181f27",
    "--line": "#28313b",
    "--hover": "#1e2630",
    "--good": "#5fc492",
    "--good-fill": "#3fa672",
    "--warn": "#e8b45c",
    "--warn-fill": "#d99a36",
    "--bad": "#f28b82",
    "--bad-fill": "#dc5b55",
    "--bad-wash": "#261b20",
    "--warn-wash": "#2a2317",
    "--accent": "#6fbcca",
    "--accent-wash": "#13303a",
  },
});

/** `public/color-scheme.js` reads the same key before anything is painted. */
export const colorSchemeManager = localStorageColorSchemeManager({ key: "capstan-color-scheme" });
