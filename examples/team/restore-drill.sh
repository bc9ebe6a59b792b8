#!/bin/sh
# Back up a bank in PostgreSQL, restore the copy beside it, and compare both: a backup that nobody restored is a hope.
# Readers and writers go on meanwhile.   restore-drill.sh postgresql://bank@db.example/bank [FILE]
set -eu
bank=$1
copy=${2:-$(mktemp -d)/bank-$(date -u +%Y-%m-%d).db}
# What stands before the last @ may be a password, with any character in it.
where=${bank##*@}
who=${bank%"$where"}
case $where in
    *schema=*) where=$(printf %s "$where" | sed 's/schema=[^&]*/schema=restore_drill/') ;;
    *\?*) where="$where&schema=restore_drill" ;;
    *) where="$where?schema=restore_drill" ;;
esac
beside=$who$where

reasoningbank --bank "$bank" backup "$copy"
reasoningbank --bank "$copy" verify
# Into a schema beside the bank: every row is checked there before it takes its place.
reasoningbank --bank "$beside" recover "$copy" --yes
reasoningbank --bank "$beside" verify
echo "The copy $copy can be restored: 'reasoningbank recover $copy', with --bank or REASONINGBANK_BANK as here, would put it in the bank's place."
echo "What the drill made is the schema restore_drill: drop it with 'DROP SCHEMA restore_drill CASCADE', and so any restore_drill_replaced_… of earlier drills."
