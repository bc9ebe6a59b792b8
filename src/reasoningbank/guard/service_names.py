"""Names of services whose settings are mostly keys, and whether a name or a sentence has one of them.

From public lists of what issues keys, without those that are everyday words or names of programs.
"""

from __future__ import annotations

from functools import cache, lru_cache
from itertools import pairwise

from reasoningbank.core.patterns import pattern

_SERVICES = """
abbysale abstractapi abusech abuseipdb accuweather acquia activecampaign acuity adafruit adafruitio adobe adobeio
adobesign adyen adzuna aerisweather aerospike aeroworkflow africastalking afterpay aftership agora agoraio ai21
airbrake airbyte aircall airship airtable airvisual airwallex aiven akamai akeyless akoya alchemy alconost alegra
alephalpha algolia alibaba alicloud alienvault aliyun alpaca alphavantage amadeus ambee amplitude ankr anthropic
anticaptcha anypoint anyscale apacta api2cart apideck apiflash apifonica apify apilayer apimatic apitemplate apollo
apolloio appcenter appcues appdynamics appfollow applitools appointedd appsynergy apptivo appveyor appwrite aquasec
arangodb arbiscan arcgis arize artifactory artsy asana ashby assemblyai atera atlassian attio audd auth0 authorizenet
autodesk autoklose autopilot avalara avaza aviationstack aweber aws axiom axonaut aylien ayrshare azure azuredevops
baichuan baidu baidubce bamboohr bananadev bannerbear baremetrics basecamp baseten basistheory battlenet beamcloud
beamer beebole beehiiv belvo besnappy besttime betterstack betteruptime bigcommerce bigmodel billcom billomat binance
binaryedge bitbar bitbucket bitcoinaverage bitfinex bitget bitgo bitly bitmex bitrise bitstamp bittrex bitwarden
blackduck blameless blandai blazemeter blockchair blockcypher blockdaemon blockfrost blocknative bluesky bluesnap
blynk bombbomb borgbase botpress box braintree braintrust branch brandfetch brave braze brevo brex bridgecrew
brightcove brightdata brightlocal browserbase browserless browserstack browshot bscscan buddyci buddyns bugcrowd
bugfender bugherd bugsnag builderio buildkite bulksms bungie bunny bunnycdn bunnynet buttercms bybit caflou calcom
calendarific calendly calorieninja campaignmonitor campayn canva capsolver capsulecrm carbonblack cartesia cashboard
cashfree caspio censys cerebras cerebrium cexio chainlink chainstack chargebee chargify chartmogul chatbase chatfuel
checkly checkmarket checkmarx checkout checkoutcom checkvist chocolatey circleci ciscomeraki civo clarifai clearbit
clearml clerk clevercloud clevertap clickhelp clicksend clickup cliengo climacell clinchpad clockify clockworksms
closecrm closeio cloudant cloudconvert clouddns cloudelements cloudflare cloudimage cloudinary cloudmersive cloudns
cloudplan cloudsight cloudsmith cloudways cloverly clubhouse clustdoc cockroachdb cocoapods codacy codeberg
codeclimate codecov codefresh codemagic codequiry codeship cohere cohereai coinapi coinbase coingecko coinlayer
coinlib coinmarketcap cometchat cometml commercejs commercetools companyhub composio conekta configcat confluent
constantcontact constructorio contentful contentstack convertapi convertkit convex convier copyscape coralogix
coreweave couchbase countrylayer courier courierapi covalent coveo coveralls craftmypdf cratedb cratesio createsend
criminalip cronitor cronofy crossbrowsertesting crowdin crowdstrike crunchbase cryptocom cryptocompare currencycloud
currencyfreaks currencylayer currencyscoop currents currentsapi customerguru customerio cyberark cybersource d7network
dagshub dailyco dareboost dashlane dashscope databend databento databox databrick databricks datadog datafire datagov
datocms dbtcloud deadmanssnitch deel deepai deepgram deepinfra deepl deepseek deepset deepsource deezer dehashed demio
deribit descope desec detectify detectlanguage determinedai devcycle dfuse dgraph dialogflow dialpad diffbot
diggernaut digitalocean dingtalk directus discord discordbot disqus distribusion dlocal dnscheck dnsimple docker
dockerhub docparser documenso documo docusign doordash doppler dotmailer doubao dovico dreamhost dremio dronahq
droneci dropbox dropboxsign duckdns duffel duply dwolla dynadot dynalist dynatrace dynu dyspatch dyte easydns
easyinsight easypost ebanx ebay ecobee ecwid edamam edenai edgecast edgio edusign eightbyeight elastic elasticcloud
elasticemail elasticpath elevenlabs emailoctopus enablex engagespot enom env0 eodhd eppo equinix esri etherscan
ethplorer etsy eventbrite everhour evernote eversign exaai exchangerateapi exoscale expedia facebook faceit
faceplusplus falai fastforex fastly fastspring faunadb fdroid feedier feedly feishu fetchrss fibery figma filestack
finage financialmodelingprep findl finicity finnhub firebase fireblocks firebolt firecrawl firehydrant fireworksai
fitbit fivetran fixer fixerio flagsmith fleetbase flickr flightapi flightlabs flightstats flowdash flowdock flowflu
fluidstack flutterwave flyio fmp fofa forgerock formbucket formcraft formio formsite formstack fortinet foursquare
frameio framer freshbooks freshchat freshdesk friendlycaptcha frontapp frontegg ftmscan ftx fullcontact fullstory
fusebill fusionauth fxmarket gandi garmin gateio gcore geckoboard gemfury gengo geoapify geocodify geocodio geoipifi
getemail getgeoapi getgist getresponse getstream giphy gitea gitguardian github gitlab gitter gladia gladly glassnode
gnews gocanvas gocardless godaddy gorgias goshippo gosquared gotomeeting grafana grafanacloud graphcms graphhopper
greenhouse greptile greynoise groovehq groq growthbook grubhub gtmetrix guardian guardianapi gumroad gupshup gusto
gyazo hackerone hanko happyscribe harness hashicorp hasura haveibeenpwned hcaptcha healthchecks helicone helius
hellosign helpcrunch helpscout heremaps heroku hetzner hexpm heygen hibp hightouch hiveage hockeyapp holidayapi
honeybadger honeycomb hostinger hotjar huaweicloud hubspot huggingface humanloop humeai humio hunter hunterio hunyuan
huobi hybiscus hybridanalysis hygraph hypeauditor hyperbrowser hypertrack ibm ibmcloud iconfinder ideogram iexcloud
ifttt igdb imagekit imgbb imgix imgur imperva incapsula incidentio infisical influxdb infobip infracost infura
inoreader insightly instabot instabug instacart instagram instana instantly instapaper integromat intelx intercom
interseller intigriti intrinio intruder invoiceocean inwx ipapi ipdata ipgeolocation ipify ipinfo ipinfodb ipquality
ipregistry ipstack iterable iyzico jelastic jfrog jinaai jinareader jira jotform jsonbin jumio jumpcloud jumpseller
jwplayer kaggle kagi kakao kakaotalk kaleyra karmacrm kavenegar kayako keenio keycdn kickbox kinde kinsta kiteconnect
klarna klaviyo klevu klipfolio kontent koyeb kraken kucoin kustomer kylas labelbox lacework lambdalabs lambdatest
lancedb landbot langfuse langsmith languagelayer languagetool lark larksuite lastfm lastpass launchdarkly leadfeeder
leakix leanplum lemlist lemonsqueezy lendflow leonardo leonardoai lepton leptonai leverco lexigram lightningai
lightstep linear linebot linkedin linkup linode litellm lithic liveagent livechat livekit livestorm llamaapi
llamacloud llamaparse lmnt lmstudio loadmill lob localytics locationiq logdna logentries loggly loginradius logrocket
logtail logto logzio lokalise looker losant loyverse lucidchart lumalabs lunchmoney luno lusha madkudu magicbell
magiceden mailboxlayer mailchimp mailerlite mailersend mailgun mailjet mailmodo mailsac malwarebazaar mandrill mapbox
mapquest maptiler marketstack marqeta marqo mastodon mattermost mavenlink maxio maxmind meaningcloud mediastack
meistertask memgraph meraki mercadopago mercury mesibo messagebird messari metaapi metaphor meteomatics metrilo mexc
mezmo middesk midjourney midtrans mikrotik mindmeister mindsdb minimax miro mistral mixcloud mixedbread mixmax
mixpanel mockaroo modallabs modulr moengage mojohelpdesk mollie monday mongodb monkeylearn moonclerk moonshot
moonshotai moosend moralis motherduck mouseflow mparticle msg91 murf musixmatch mux myfreshworks myintervals n8n
namecheap namedotcom namesilo nansen nasdaq naver ncloud neon neondb neptuneai nessus netatmo netbird nethunt netlify
neutrinoapi neverbounce newrelic newsapi newscatcher newyorktimes nexmo nftport ngrok nhost nicehash nicereply
nightfall nium nomicai nordigen nordvpn northflank nostr notion notionapi novita novu npm npmjs nsone ntfy nubela
nuget numverify nutritionix nutshell nvidia nylas nytimes oanda oci ocrspace octoai okta okx ollama omdb omise
omnisend onbuka onedesk onelogin onepagecrm onepassword onesignal onfido onshape onwaterio oopspam openai opencage
opencagedata opendatasoft opengraphr openrouter opensea opentable openuv openvsx openweather openweathermap opsgenie
optidash optimizely oura ovh ovhcloud ovsx owlbot owm oxylabs packagecloud packagist packlink paddle pagekite
pagerduty pagseguro paloalto paloaltonetworks pandadoc pandascore pantheon paperform paperspace papertrail papyrs
paralleldots parsehub parseur partnerstack passbase passivetotal pastebin paxos paydirtapp paymo paymoapp paymongo
paypal paystack paytm payu pdflayer pdfmyurl pdfshift pendo peopledatalabs pepipost perplexity perplexityai persona
personio pexels phemex phonepe picovoice pinata pinecone pingdom pingidentity pingone pinterest pipedream pipedrive
pivotaltracker pixabay plaid planetscale planyo platformsh playht plivo pocketbase podio poeditor poloniex polygonio
polygonscan polymarket porkbun portkey positionstack postageapp posthog postman postmark powrbot prefect prestashop
printfection printful printify prismacloud prismic privateai prodpad profitwell promptlayer propelauth prospectio
protocolsio proxycrawl proxycurl pubnub pulumi purestake pushbullet pusher pusherbeams pushover pushwoosh pyowm qase
qcloud qianfan qiniu qovery qualaroo qualtrics qualys quandl quayio qubole questdb quickbase quickbooks quickmetrics
quicknode qwen rackspace railsbank raindrop rapid7 rapidapi rapyd rarible rasa rawg raygun razorpay reachmail readwise
rebrandly recaptcha rechargepayments recurly redbooth reddit rediscloud redislabs rentman repairshopr replicate
replicateai rescuetime resemble resembleai resend restpack retell retellai revai revampcrm revolut ringcentral riot
riotgames rippling riskiq ritekit roboflow rocketchat rocketreach rockset rollbar rootly route4me routee rownd
rubygems rudderstack runpod runrunit runway runwayml saleor salesblink salesflare salesforce salesloft salesmate
sambanova samsara sanity sanityio satismeter saucelabs scaleai scaleway scalingo scalr scoutapm scrapeapi scrapeowl
scraperapi scraperbox scrapestack scrapfly scrapingant scrapingbee scrapingdog scrapinghub screenshotapi
screenshotlayer scrutinizer searchapi searchspring securitytrails segment selectpdf sellfy semaphoreci sematext
semgrep sendbird sendcloud sendgrid sendinblue sendoso sendpulse sensenova sentinelhub sentinelone sentry serpapi
serper serphouse serpstack sheety sherpadesk ship24 shipday shipengine shippo shipstation shodan shopify shopware
shotstack shutterstock shyft sightengine signalfx signalwire signaturit signnow signoz sigopt siliconflow simfin
simplehash simplesat simplybook simplynoted simvoly sinch singlestore siteleaf skrappio skybiometry skyscanner slack
slackbot smartling smartlook smartproxy smartsheet smartsheets smartthings smartystreets smooch smsapi snapchat
snipcart snovio snowflake snowplow snowtrace snyk socure softlayer sonar sonarcloud sonarqube sonatype soniox sophos
soundcloud sourcegraph spacelift sparkpost speechify speechmatics splitio splunk spoonacular sportradar sportsmonk
spotify sqreen squadcast square squarespace squareup sslmate stabilityai stackpath stadia stadiamaps starburst
startree statsig statuscake statuspage statuspal stepfun stitchdata stockdata storecove stormboard stormglass
storyblok storychief strato strava streak streamio stripe stripeconnect stytch substack sucuri sugester sumo sumologic
supabase supertokens supportbee surveymonkey surveysparrow survicate swiftype symbl synthesia sysdig tableau tailscale
tallyfy tatum tavily tavus tawk taxjar teamcity teamgate teamviewer teamwork tefter telegr telegram telegrambot
telesign telnyx tenable tencent tencentcloud tensordock termii terraformcloud testflight testingbot testrail text2data
textlocal textmagic textrazor thehive themoviedb theoddsapi thingspeak thinkific thirdweb thousandeyes thunderforest
thunes ticketmaster tickettailor ticktick tidio tiingo tiktok timecamp timekit timescale tinybird tmdb todoist
togetherai togethercomputer toggl toggltrack tokeet tomorrowio tomtom trackingmore tradier trakt transferwise
transifex transloadit travelpayouts travelport travis travisci trayio trello trendmicro truelayer trufflehog trulioo
trychroma tumblr turbopuffer turnstile turso tuya tvdb twelvedata twilio twingate twitch twitchtv twitter twocaptcha
tyntec typeform typetalk ubidots ubiquiti uclassify unifi unifyid unleash unplugg unsplash upcloud uplead uploadcare
uproc upstage upstash uptimerobot upwave upyun urbanairship urlscan userflow userstack vapi vastai vatlayer vbout
veevavault veracode vercel veriff verimail veriphone versioneye victorops viewneo vimeo virustotal visualcrossing
voiceflow voicegain volcengine volcengineark volces vonage vonagevideo voodoosms vouchery voyage voyageai vpnapi vultr
vyte wakatime walkscore wandb weatherapi weatherbit weatherstack webengage webex webflow webscraping wechat wecom
weightsandbiases weixin wellsaid wepay wercker whitesource whoisxml whoxy wistia witai withings wixapi wiz woocommerce
woodpecker woopra wordsapi workable workato workday workos worksnaps workstack worldcoinindex worldpay worldweather
wpengine wrike wufoo xai xata xendit xero xmatters yandex yandexcloud yelp yodlee youcom youneedabudget yousign
youtrack yugabyte zapier zeabur zendesk zenkit zenrows zenscrape zenserp zeplin zerobounce zerotier zhipu zhipuai
zilliz zipbooks zipcodeapi zipcodebase zoho zonkafeedback zoomeye zoominfo zscaler zulip zuora zyte
"""
"""Services under whose names alone most values are keys."""
_KEYS_ARE_UUIDS = """
aftership ai21 airship anypoint checkout checkoutcom clicksend cloudsmith codecov coinapi coinmarketcap deepai
elasticemail falai guardian heroku holidayapi hubspot kucoin loggly messagebird messari mixmax nordigen onesignal
opsgenie pinecone postmark postmarkapp rapid7 scaleway snyk splunk squarespace statsig statuspage tatum upstash
wakatime
"""
_ENDS = ("key", "token", "secret", "login", "access")
_GLUED = pattern(rf"(?<=\w{{3}})(?:api)?(?:{'|'.join(_ENDS)})$")
_WORDS = pattern(r"[a-z][a-z0-9]+|[A-Z][a-z0-9]+|[A-Z0-9]+")
_NO_KEY = "id ids url uri host sha hash digest version image tag ref commit channel user name team org"
_NO_KEY_IN_A_NAME = """
checksum md5 sha256 sha1 release revision integrity etag fingerprint cursor trace span request session public pub bucket
region site file path
"""


@lru_cache(maxsize=1024)
def names_a_service(name: str) -> bool:
    """`algolia`, `DD_algolia`: a service, and nothing that says which of its ids, hosts or versions it is."""
    return speaks_of_a_service(name) and _no_keys_of_a_name().isdisjoint(_words(name))


def speaks_of_a_service(text: str) -> bool:
    """The same of a stretch of text."""
    services, no_key, _ = _sets()
    words = _words(text)
    return not services.isdisjoint(words) and no_key.isdisjoint(words)


def has_uuids_for_keys(name: str) -> bool:
    """True if a name is of a service whose keys look like any id."""
    return names_a_service(name) and not _sets()[2].isdisjoint(_words(name))


def _words(name: str) -> list[str]:
    """The words of a name, each with the next, and without what says that it is a key: `newRelic`, `snykkey`."""
    words = [word.lower() for word in _WORDS.findall(name)]
    return [
        *words,
        *(first + second for first, second in pairwise(words)),
        *(_GLUED.sub("", w) for w in words if w.endswith(_ENDS)),
    ]


@cache
def _no_keys_of_a_name() -> frozenset[str]:
    return frozenset(_NO_KEY_IN_A_NAME.split())


@cache
def _sets() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    return frozenset(_SERVICES.split()), frozenset(_NO_KEY.split()), frozenset(_KEYS_ARE_UUIDS.split())
