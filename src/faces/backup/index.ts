/** Backups: making and restoring them, and their commands. */
export { addBackupCommands } from "./cli/backup-commands.ts";
