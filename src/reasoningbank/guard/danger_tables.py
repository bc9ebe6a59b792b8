"""Kinds of danger, and the tables by which they are known: options, programs, variables, code, advice in words."""

from __future__ import annotations

from reasoningbank.core.patterns import pattern

FETCHES = "fetches from outside"
PIPED = "runs what another program printed"
RIGHTS = "runs with more rights"
DELETES = "deletes or destroys"
DISCARDS = "discards changes"
OVERWRITES = "overwrites what was pushed"
DROPS = "drops data"
FORCES = "is forced"
SKIPS_HOOKS = "gets past hooks and checks"
SKIPS_TESTS = "leaves out tests"
SKIPS = "switches off a check"
SENDS = "sends data out"
RUNS_CODE = "runs code that fetches, decodes or destroys"
INJECTS = "has a program run what a setting says"
UNREAD = "is too long to be looked through"

# ---------------------------------------------------------------- options of whichever program

OPTIONS = (
    (SKIPS_HOOKS, pattern(
        r"--no-?verify(?:=true)?|--no-?gpg-?sign|--no-?check\S*|--skip-?checks?\S*|--no-?hooks?|--no-?pre-?commit")),
    (SKIPS_TESTS, pattern(
        r"-D(?:maven\.test\.)?skip\S*|-Dmaven\.test\.failure\.ignore\S*|--passWithNoTests|--deselect\S*"
        r"|--exclude-?tests?\S*|--(?:no|skip)-?tests?|--ignore=\S*test\S*|-x(?:test|check)")),
    (FORCES, pattern(r"--force(?:-yes|-all|-overwrite|-depends|-conflicts|-delete|-unsafe)?(?:=true)?|--yolo"
                     r"|--overwrite-?all")),
    (SKIPS, pattern(
        r"--skip(?:[-=A-Z]\S*)?|--insecure\S*|--(?:trusted-?host|dangerously|unsafe|accept-all|ignore-checksum)\S*"
        r"|--allow-?(?:unauthenticated|insecure\S*|root|untrusted|downgrades|unsafe\S*)|--break-system-packages"
        r"|--disable-?\S*(?:security|sandbox|auth|verif|check|ssl|tls|valid|protect|sign)\S*|--exit-zero|--nodeps"
        r"|--nosignature|--nogpg\S*|--no-?(?:sandbox|gpg-?checks?|integrity|preserve-root)|--legacy-peer-deps"
        r"|--no-?(?:strict|fail|ssl|tls|auth|validat|signature|protect)\S*|--ssl-?no-?verify"
        r"|--(?:tls-?)?verify[-=](?:no|false|0)")),
    (RIGHTS, pattern(r"--privileged(?:=true)?|--cap-add\S*|--security-opt\S*|--userns=host|--pid=host")),
    (INJECTS, pattern(r"(?:--(?:upload|receive)-pack|--checkpoint-action|--use-compress-program|-javaagent:"
                      r"|(?:-o)?ProxyCommand|ext::)\S*")),
)  # fmt: skip
MORE_OPTIONS = pattern(
    r"(?i)StrictHostKeyChecking[= ](?:no|off|accept-new)|UserKnownHostsFile[= ]/dev/null|core\.hooksPath"
    r"|commit\.gpgsign=false|http\.sslVerify|sslVerify=false|strict-ssl|global\.trusted-host"
)
"""Dangerous wherever in a word it stands."""

# ---------------------------------------------------------------- programs, by their words

BY_PROGRAM = tuple(
    (frozenset(names.split()), kind, pattern(source))
    for kind, names, source in (
        (DELETES, ("shred wipefs mkswap mkfs newfs userdel deluser dropdb fdisk parted sgdisk diskutil srm shutdown "
                  "reboot halt poweroff format-volume clear-disk"), r""),
        (DELETES, "rm ri remove-item",
         r"(?i) (?:-[a-z]{0,9}[rf][a-z]{0,9}|--(?:recursive|force|no-preserve-root))\b| (?:\S*/)?\*+ | [~/]/? "),
        (DELETES, "rmdir del erase rd format", r"(?i) (?:/[sqf]|[a-z]:) "),
        (DELETES, "find truncate dd mv rsync",
         r" -delete | (?:-s ?0|--size[= ]0)\b| of=/dev/(?!null|stdout|stderr)| /dev/null | --delete\S* "),
        (DELETES, ("terraform tofu terragrunt cdk pulumi vagrant serverless sls sam copilot tilt eksctl cdktf kubectl "
                  "oc k helm aws gcloud az doctl flyctl fly heroku vercel netlify supabase firebase wrangler gsutil "
                  "linode-cli hcloud oci"),
         (r" (?:-{0,2}(?:destroy|remove|delete)|terminate|deregister|purge|drain|uninstall|del|rm|rb|\S*reset"
         r"|apps:destroy)\b")),
        (DELETES, "docker podman docker-compose",
         (r" prune | volume (?:rm|remove) | down (?:\S+ ){0,20}(?:-v|--volumes|--rmi) "
         r"| (?:rm|rmi) (?:\S+ ){0,20}(?:-[a-z]{0,9}[fv][a-z]{0,9}|--force) ")),
        (DELETES, "npm pnpm yarn cargo gem twine gh glab",
         r" (?:unpublish|yank|(?:repo|release|secret|issue) delete) "),
        (DROPS, ("rails rake php artisan python manage.py django-admin prisma npx pnpm yarn bunx sequelize knex "
                "typeorm drizzle-kit alembic"),
         (r" (?:db:(?:drop|reset|purge|truncate_all|schema:load|wipe|migrate:undo:all)|migrate:(?:fresh|reset|refresh)"
         r"|flush|reset_db|sqlflush|migrate reset|db push (?:\S+ ){0,20}--force-reset|schema:drop|downgrade base)\b")),
        (DELETES, "crontab kill", r" (?:-r|-9 -1) "),
        (SKIPS, "iptables nft ip6tables ufw setenforce history spctl csrutil",
         r" (?:-F|(?:--)?flush|\S*disable|reset|0|-c) "),
        (SKIPS, "systemctl service launchctl",
         (r" (?:stop|disable|mask) (?:\S+ ){0,20}\S{0,40}(?:firewall|ufw|apparmor|fail2ban|audit|defender|falcon"
         r"|clamav)")),
        (SKIPS, "set-mppreference set-executionpolicy", r""),
        (SKIPS, "powershell pwsh", r"(?i) -(?:ep|ex\w*) (?:bypass|unrestricted) "),
        (SKIPS, "curl", r" -[a-zA-Z]{0,9}k[a-zA-Z]{0,9} | --proxy-insecure "),
        (SKIPS, "make", r" (?:-[a-z]{0,9}i[a-z]{0,9}|--ignore-errors) "),
        (SKIPS, "npm pnpm yarn", r" (?:-f|audit=false|(?:--)?ignore-engines) "),
        (SKIPS_TESTS, "pytest py.test python tox nox uv poetry pipenv", r" -k[ =]?not "),
        (SKIPS_TESTS, "gradle gradlew mvn mvnw", r" -x (?:\S*:)?(?:test|check|lint)| --exclude-task | -(?:fn|fae) "),
        (RIGHTS, "setcap visudo pkexec doas sudo su runas nsenter insmod modprobe run0 gsudo sudoedit", r""),
        (RIGHTS, "chmod",
         (r" (?:-\S+ ){0,9}(?:[0-7]?[0-7]?[0-7][2367]|[ugo]{0,3}[ao][ugo]{0,3}[+=][rx]{0,3}w[rwxX]{0,3}|\+rwx"
         r"|[ugoa]{0,4}[+=][rwx]{0,3}s[rwxt]{0,3}|[246]7[0-7]{2}) ")),
        (RIGHTS, "chown icacls takeown usermod gpasswd adduser addgroup",
         r"(?i) (?:(?:root|0)(?::\S*)?|\S*everyone:\S*|/f|sudo|wheel|docker|admin) "),
        (RIGHTS, "docker podman docker-compose",
         r"(?:-v|--volume)[ =](?:/|/etc|/var/run/docker\.sock|/root)(?::| )| --user[= ](?:root|0) "),
        (FETCHES, "python pip uv uvx pipx poetry conda mamba",
         (r" install .*?(?:(?:-i|--index-url|--extra-index-url|--index|-f|--find-links|--default-index)[ =]"
         r"(?!\.|/|file:)\S|@ ?https?:|\bgit@)")),
        (FETCHES, "npm pnpm yarn npx bunx bun",
         (r" (?:i|in|ins|install|add|ci|-y|--yes|dlx|exec|x|-g)(?: -\S+){0,9} (?:github:|gitlab:|git@|bitbucket:)?"
         r"[A-Za-z][\w-]*/[\w.-]+(?:#\S+)? (?!-)")),
        (FETCHES, "npx bunx", r"^ (?:-\S+ ){0,9}(?:github:)?[A-Za-z][\w-]*/[\w.-]+(?:#\S+)? "),
        (FETCHES, "svn hg bzr", r" (?:co|checkout|clone|branch) \S+:"),
        (FETCHES, ("aria2c axel lynx httpie xh iwr irm invoke-webrequest invoke-restmethod start-bitstransfer "
                  "bitsadmin apt-key add-apt-repository rpm-key"), r" (?!-h |--help |--version )[^\s-]"),
        (SENDS, "nc ncat netcat socat telnet",
         (r"^(?!.* (?:-[a-zA-Z]{0,9}z|(?:-h|--help|--version|localhost|127\.0\.0\.1|::1) )).* \S+ \S+ "
         r"| -[a-z]{0,9}[ec] |--exec")),
        (SENDS, "rsync", r" (?:[\w.-]+@)?[\w.-]{2,}::?(?!\\)\S* "),
        (SENDS, "scp sftp ftp tftp sendmail mail mailx mutt rclone croc magic-wormhole transfer", r" \S"),
        (SENDS, "gh ssh ngrok localtunnel cloudflared bore",
         r" (?:gist create|-[a-zA-Z]{0,9}R\S*|http|tcp|tunnel|local) "),
        (PIPED, "iex invoke-expression", r""),
        (RUNS_CODE, "powershell pwsh", r"(?i) -(?:e|ec|en\w*) \S"),
        (RUNS_CODE, "mshta regsvr32 rundll32 wscript cscript", r" \S"),
        (RUNS_CODE, "vim vi nvim ed ex certutil", r"(?i) (?:-c \S*!|[-/](?:decode|urlcache))"),
    )
)  # fmt: skip
GIT = tuple(
    (verbs.split(), kind, pattern(source))
    for kind, verbs, source in (
        (OVERWRITES, "push", r" (?:-[a-z]{0,9}f[a-z]{0,9}|--force\S*|--mirror|\+\S+) "),
        (DELETES, "push", r" (?:--delete|-d|--prune|:\S+) "),
        (DELETES, "clean", r"^(?!.* (?:-[a-z]{0,9}n[a-z]{0,9}|--dry-run) )"),
        (DELETES, "branch", r" (?:-D|--delete) "),
        (DELETES, "reflog gc prune", r" (?:expire|delete|--prune=\S+|--expire=\S+) "),
        (DELETES, "worktree submodule", r" (?:remove|deinit) (?:\S+ ){0,20}(?:-f|--force) "),
        (DELETES, "filter-branch filter-repo update-ref replace", r""),
        (DISCARDS, "reset stash", r" (?:--hard|drop|clear) "),
        (DISCARDS, "checkout restore", r"^(?!.* --staged ).* (?:\.|--) "),
        (DISCARDS, "checkout switch", r" (?:-f|--force|--discard-changes) "),
        (SKIPS_HOOKS, "commit", r" -[a-z]{0,9}n[a-z]{0,9} "),
        (FORCES, "add rm mv", r" -f "),
    )
)  # fmt: skip
RUN_BY_GIT = pattern(
    r"(?:core\.(?:sshCommand|fsmonitor|pager|editor|askpass)|protocol\.ext\.allow"
    r"|(?:alias\.\w+|credential\.helper)=!\S*|diff\.external|url\.\S+\.insteadof)\b.*"
)
SHELLS, INTERPRETERS, SPEAKERS, QUIET_GIT, RUNNERS, _OTHERS_INSIDE = (
    frozenset(names.split())
    for names in (
        "bash sh zsh dash ksh fish ash csh tcsh",
        "python node nodejs ruby perl php deno bun lua osascript pwsh powershell rscript tclsh pypy cmd",
        # Programs to whom an address or a command is only a word.
        (
            "echo printf grep egrep fgrep rg ag ack which man type whereis help info alias pgrep open xdg-open gh glab "
            "test [ jq yq say logger whatis apropos tldr history ping dig nslookup host command cd ls cat sed awk code"
        ),
        "log grep remote show blame tag diff shortlog describe",
        # Programs that run what their words say.
        (
            "xargs find watch parallel entr ssh docker podman kubectl su flock chroot script strace ltrace uv poetry "
            "pipenv npx yarn pnpm tmux screen nsenter vagrant docker-compose proxychains torsocks unshare gdb "
            "busybox toybox trap eval parallel-ssh start cmd wsl direnv dotenv nodemon concurrently systemd-run batch "
            "at hyperfine pwsh powershell"
        ),
        (
            "curl wget git rm dd chmod chown shred truncate mv find nc ncat scp python python3 node perl ruby php psql "
            "mysql kubectl terraform npm pip"
        ),
    )
)
KNOWN_INSIDE = SHELLS | _OTHERS_INSIDE
"""Programs by which a command is known that begins among another one's words."""

# ---------------------------------------------------------------- variables

NO_CHECK = pattern(
    r"GIT_SSL_NO_VERIFY|PIP_(?:TRUSTED_HOST|BREAK_SYSTEM_PACKAGES)|SKIP_\w+|\w+_SKIP(?:_\w+)?|\w*NO_?VERIFY\w*"
    r"|\w*INSECURE\w*|DISABLE_\w*(?:SECUR|AUTH|SSL|TLS|VERIF|CHECK|SANDBOX|VALID)\w*|GONOSUM\w*"
    r"|COMPOSER_ALLOW_SUPERUSER|\w+_NO_SANDBOX"
)
CHECK = pattern(
    r"NODE_TLS_REJECT_UNAUTHORIZED|PYTHONHTTPSVERIFY|\w*(?:SSL|TLS|CERT)_?VERIFY\w*|\w*VERIFY_?(?:SSL|TLS|CERT)\w*"
    r"|\w*STRICT_SSL|GOSUMDB"
)
RUN_BY_SETTING = pattern(
    r"LD_(?:PRELOAD|AUDIT)|DYLD_\w+|PYTHON(?:STARTUP|INSPECT|BREAKPOINT)|PERL5(?:OPT|DB)|BASH_ENV|PROMPT_COMMAND"
    r"|GIT_(?:SSH(?:_COMMAND)?|PROXY_COMMAND|EXTERNAL_DIFF|CONFIG\w*|TEMPLATE_DIR)|\w+_ASKPASS"
    r"|RUSTC_(?:WORKSPACE_)?WRAPPER|\w*SHELL_HOOK|npm_config_script_shell|RUBYOPT|\w+_LAUNCHER"
)

# ---------------------------------------------------------------- statements and code

DROPPING = pattern(
    r"(?i)\b(?:drop\s+(?:table|database|schema|index|view|column|user|role)"
    r"|truncate\s+(?:table\s+)?[\w\"`.]+\s*(?:;|$|\")"
    r"|delete\s+from\s+[\w\"`.\[\]]+\s*(?:;|$|['\"]|where\s+(?:true|1\s*=\s*1)\b)"
    r"|flushall|flushdb|dropDatabase\s*\(|deleteMany\s*\(\s*(?:\{\s*\})?\s*\))"
)
DROPPING_SIGNS = ("drop", "truncate", "delete", "flush")
SWITCHED_OFF = pattern(
    r"(?:^|[\s,(])verify\s*=\s*False\b|rejectUnauthorized['\"]?\s*:\s*false|_create_unverified_context"
)
SWITCHING_SIGNS = ("verif", "reject")
SWALLOWS = pattern(r"\|\|\s*(?:true|:|exit 0)(?![\w./-])|\bset \+e\b")
DANGEROUS_CALL = pattern(
    r"\b(?:exec|eval|__import__|execSync|spawn(?:Sync)?|atob|system|popen|passthru|shell_exec|urlopen|urlretrieve"
    r"|rmtree|(?:unlink|rm|rmdir)Sync|removedirs)\s*\(|child_process|\bsubprocess\.(?:run|call|Popen|check|getoutput)"
    r"|\bos\.(?:remove|unlink|exec\w+|spawn\w+)\s*\(|\brequests\.(?:get|post|put|delete|request|patch)\s*\("
    r"|\bsocket\.(?:socket|create_connection)\s*\(|\.Download(?:String|File)|FromBase64"
)
CODE = pattern(
    rf"{DANGEROUS_CALL.pattern}|\bbase64\b|\bmarshal\b|\bcodecs\.decode|fromhex|\bhttp\.client|\bsystem\b\s*['\"q]"
    r"|CERT_NONE"
)

# ---------------------------------------------------------------- advice in words

_CHECKS = (
    r"(?:tls|ssl|https?|certs?|certificates?|verif\w+|signatures?|security|firewall|sandbox\w*|selinux|apparmor"
    r"|antivirus|(?:pre-?commit |git )?hooks?|checksums?|integrity|authenti\w+|authoriz\w+|csp|cors|csrf|2fa|mfa"
    r"|lint\w*|type ?-?check\w*|validation\w*|(?:\w+ )?(?:checks?|tests?)|protection|gatekeeper|defender|code review)"
)
_DATA = (
    r"(?:\.env\b|secrets?|credentials?|passwords?|passphrases?|tokens?|api ?keys?|(?:private |ssh |access )?keys?"
    r"|source code|contents?|database|dumps?|logs?|environment(?: variables)?|config\w*|customer\w*|user data|data"
    r"|files?|history|output|results?|it|everything)"
)
_PLACES = (
    r"(?:folders?|director(?:y|ies)|database|db|schema|(?:[\w`.]+ )?tables?|branch(?:es)?|bucket|volumes?|cluster"
    r"|namespace|backups?|history|repo(?:sitory)?|everything(?! (?:within|between|after|before|up)\b)|production|prod"
    r"|all (?:of )?(?:the |its |their )?(?:files|data|rows|records|users|orders)|whole \w+|entire \w+|node_modules|home"
    r"|root|disk|partition)"
)
_TO_SEND = r"\b(?:send|upload|post|forward|e-?mail|exfiltrat\w+|leak|transmit|paste|share"
IN_WORDS = tuple(
    (frozenset(stems.split()), kind, pattern(f"(?i){source}"))
    for kind, stems, source in (
        (SKIPS, "disa deac turn swit bypa circ skip igno comm",
         (r"\b(?:disabl(?:e|es|ed|ing)|deactivat\w+|turn(?:ed|ing)? off|switch(?:ed|ing)? off|bypass\w*|circumvent\w*"
         r"|skip(?:s|ped|ping)?|ignor(?:e|es|ed|ing)|comment(?:ed|ing)? out)(?: (?:[\w'/-]+)){0,3}? " rf"{_CHECKS}\b"
         rf"|\bturn(?:ed|ing)? (?:[\w'/-]+ ){{0,3}}?{_CHECKS} off\b")),
        (SKIPS, "without",
         (r"\bwithout (?:(?:first |any |running |doing |the |its |their |a |an )*)(?:verif\w+|checking|signature"
         r"|tests?\b|hooks?\b|validation|validating|code review|ssl|tls|certificate)")),
        (SKIPS, "stri veri tls ssl", r"\b(?:strict|verif\w+|tls|ssl)\b[^.\n]{0,20}\b(?:to|=) ?(?:false|off|0|none)\b"),
        (DELETES, "dele remo eras clea wip wipe wipi purg dest drop trun",
         (r"\b(?:delet(?:e|es|ed|ing)|remov(?:e|es|ed|ing)|eras(?:e|es|ed|ing)|clear(?:s|ed|ing)?|wip(?:e|es|ed|ing)"
         r"|purg(?:e|es|ed|ing)|destroy\w*|drop(?:s|ped|ping)?|truncat\w+)(?: (?:[\w'`./-]+)){0,3}? "
         rf"{_PLACES}(?![\w-])")),
        (OVERWRITES, "forc push rewr over",
         (r"\bforce[- ]?push\w*|\bpush(?:es|ed|ing)?\b[^.\n]{0,30}\b(?:with|by) force\b"
         r"|\b(?:rewrit|overwrit)\w+ (?:the |its |our )?(?:\w+ )?history\b")),
        (DISCARDS, "disc hard",
         r"\bdiscard(?:s|ed|ing)? (?:all |any |the |your |local |uncommitted )*(?:changes|work)\b|\bhard[- ]reset\w*"),
        (SENDS, "send uplo post forw emai e-ma exfi leak tran past publ copy shar repo",
         (rf"{_TO_SEND}|publish|copy|report)(?:s|ing)?(?: (?:[\w'`./-]+)){{0,5}}? {_DATA}(?: (?:[\w'`./-]+)){{0,6}}? "
         r"(?:to|at|into|with|via|on) (?:the |an? |our |this |their )?(?:https?:|[\w.-]+@|(?:[\w-]+\.)+[a-z]{2,}"
         r"|(?:\w+ )?(?:server|endpoint|url|address|webhook|pastebin|bucket|channel|site|host|collector))"
         rf"|{_TO_SEND})(?:s|ing)?\b[^.\n]{{0,40}}?(?<!\w)(?:\.env\b|secrets?\b|credentials?\b|passwords?\b"
         r"|(?:private|ssh|api|access) keys?\b|tokens? (?:to|with)\b)")),
        (RIGHTS, "root supe admi sudo elev worl writ",
         (r"\bas (?:the )?(?:root|superuser)\b|\b(?:run|runs|running|execut\w+|start\w*|launch\w*|install\w*)\b"
         r"[^.\n]{0,40}\bas (?:an? |the )?admin\w*|\bwith (?:root|admin\w*|sudo|elevated|superuser) "
         r"(?:rights|privileges|permissions?|access)|\bworld[- ]writ\w+"
         r"|\bwritable (?:for|by|to) (?:all|everyone|everybody|anyone|others)|\b(?:use|using|via|with) sudo\b")),
        (FETCHES, "down fetc retr grab inst clon pull",
         (r"\b(?:download|fetch|retriev|grab|install|clon|pull)(?:e|s|es|ed|ing)?\b[^.\n]{0,60}?\b(?:from (?:the )?"
         r"(?:internet|web|url|site|gist|https?:)|install script|installer|setup script|remote script|binary from)")),
        (FETCHES, "http ftp ssh git",
         (r"\b(?:set|export|download|fetch|install|execute|run|load|source|pull|clone|import|upload|send|post|visit"
         r"|point|configure|follow|apply|add|change|register)(?:s|ed|ing)?\b[^\n]{0,120}?"
         r"(?P<url>\b(?:git\+)?(?:https?|ftp|ssh|git)://\S+)")),
        (RUNS_CODE, "deco", r"\bdecod(?:e|es|ed|ing)\b[^.\n]{0,60}\b(?:and|then) (?:run|execute|eval)"),
    )
)  # fmt: skip
